"""A part of the file to its trigger: one kind each, with what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cronledger.adapters.config.models import (
    CronModel,
    Dialect,
    RuleModel,
    TimingModel,
    TriggerModel,
)
from cronledger.adapters.config.nodes import find
from cronledger.adapters.config.zonebook import instant_of, wall_of
from cronledger.core import cron
from cronledger.core.every import Elapsed, MonthEnd, Stride, parse_step
from cronledger.core.instants import format_wall, to_epoch
from cronledger.core.quartz import parse_quartz
from cronledger.core.recurrence import rrule_walls
from cronledger.core.rrule import Rrule, parse_rrule
from cronledger.core.rrule_text import RruleError
from cronledger.core.triggers import At, Single, Trigger, Union

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from cronledger.adapters.config.part import Part
    from cronledger.core.instants import Zone

KINDS = ("cron", "every", "rrule", "at", "any")
ANY_MAX = 20
# Keys that say nothing without a trigger of one kind, and what to write beside another.
_COMPANY = {
    "month_end": ("every", "remove it"),
    "exdate": ("rrule", "write 'except'"),
    "rdate": ("rrule", "write 'any', with these times under 'at'"),
}
_EXAMPLE = 'write for example cron: "0 2 * * *"'


@dataclass(frozen=True, slots=True)
class Ground:
    """What a trigger stands on: the schedule's id and zone, and a start that is given above it."""

    name: str
    zone: Zone
    start: datetime | None = None


def build_trigger(part: Part, model: TimingModel, ground: Ground) -> Trigger | None:
    """The trigger of a schedule; None, and reported, if there is none or it is wrong."""
    kind = kind_of_trigger(part, KINDS)
    if kind != "any":
        return None if kind is None else _single(part, model, kind, ground)
    _check_company(part, kind)
    items = list(part.items("any"))
    if len(items) > ANY_MAX:
        part.refuse(["any"], f"any: more than {ANY_MAX} triggers; write several schedules")
        return None
    found = [_item(item, replace(ground, start=model.start)) for item in items]
    if model.any_of == []:
        part.refuse(["any"], "any: holds no trigger; write [{cron: ...}, {every: ...}], say")
    triggers = tuple(single for single in found if single is not None)
    return Union(triggers) if triggers and len(triggers) == len(items) else None


def kind_of_trigger(part: Part, kinds: Sequence[str]) -> str | None:
    """The one key of `kinds` that stands there; None, and reported, if there is not just one."""
    given = [kind for kind in part.node.entries if kind in kinds]
    if not given:
        if kinds[0] != "cron":
            part.refuse_at(part.place, f"says nothing; write one of {', '.join(kinds)}")
        elif not any(part.stands_for(kind) for kind in (*kinds, "versions")):
            part.refuse_at(part.place, f"missing key 'cron'; {_EXAMPLE}")
        return None
    if len(given) > 1:
        both = "write one of the two, or each under 'any'" if "any" in kinds else "write one here"
        place = part.node.entries[given[1]].key_place
        part.refuse_at(place, f"'{given[1]}' stands beside '{given[0]}'; {both}")
        return None
    return given[0]


def build_cron(part: Part, model: CronModel, name: str) -> cron.Cron | None:
    """The cron of a part; None, and reported, if it cannot be used."""
    try:
        if model.dialect is not Dialect.QUARTZ:
            return cron.parse(model.expr, model.layout or cron.Layout.FIVE, name)
        if model.layout is not None:
            message = "fields: says nothing beside dialect: quartz; remove it"
            part.refuse(["cron", "fields"], message)
            return None
        return parse_quartz(model.expr)
    except cron.CronError as error:
        part.refuse(["cron", "expr"], error.message, error.column)
        return None


def build_rrule(part: Part, model: RuleModel, ground: Ground) -> Rrule | None:
    """The rule of a part, without dates beside it; None, and reported, if it cannot be used."""
    start = _start(part, model, ground, "rrule")
    if start is None or model.rrule is None:
        return None
    try:
        return parse_rrule(model.rrule, start)
    except RruleError as error:
        part.refuse(["rrule"], error.message, error.column)
        return None


def _item(part: Part, ground: Ground) -> Single | None:
    nested = part.node.entries.get("any")
    if nested is not None:
        part.refuse_at(nested.key_place, "any: does not nest; write its triggers in the list above")
        return None
    model = part.shape(TriggerModel)
    kind = kind_of_trigger(part, KINDS[:-1])
    if kind in {"cron", "at"} and model.start is not None:
        part.refuse(["start"], f"start: bounds no {kind} here; write it beside 'any'")
    return None if kind is None else _single(part, model, kind, ground)


def _single(part: Part, model: TriggerModel, kind: str, ground: Ground) -> Single | None:
    _check_company(part, kind)
    match kind:
        case "cron":
            return None if model.cron is None else build_cron(part, model.cron, ground.name)
        case "every":
            return _every(part, model, ground)
        case "rrule":
            return _rrule_with_dates(part, model, ground)
        case _:
            return _at(part, model, ground)


def _check_company(part: Part, kind: str) -> None:
    """Refuses keys that say nothing beside a trigger of that kind."""
    for key, (owner, instead) in _COMPANY.items():
        entry = part.node.entries.get(key)
        if entry is not None and kind != owner:
            hint = "write it there" if kind == "any" else instead
            part.refuse_at(entry.key_place, f"{key}: belongs to '{owner}'; {hint}")


def _every(part: Part, model: TriggerModel, ground: Ground) -> Elapsed | Stride | None:
    if model.every is None:
        return None
    try:
        step = parse_step(model.every)
    except ValueError as error:
        part.refuse(["every"], f"every: {error}")
        return None
    if model.month_end is not None and not step.months:
        message = "month_end: says nothing here; write it beside a step of months, such as P1M"
        part.refuse_at(part.node.entries["month_end"].key_place, message)
    if step.seconds:
        start = model.start or ground.start
        return Elapsed(step.seconds, 0 if start is None else _epoch(start, ground.zone))
    anchor = _start(part, model, ground, "every")
    if anchor is None:
        return None
    return Stride(anchor, step.days, step.months, model.month_end or MonthEnd.OMIT)


def _start(part: Part, model: RuleModel, ground: Ground, key: str) -> int | None:
    """The wall time from which a trigger counts."""
    start = model.start or ground.start
    if start is not None:
        return wall_of(start, ground.zone)
    if "start" not in part.node.entries:
        text = getattr(find(part.node, [key]).value, "text", "")
        message = f"missing key 'start'; {key}: {text[:40]} counts from it"
        place = part.node.entries[key].key_place
        part.refuse_at(place, f"{message}: write start: 2026-01-01T09:00:00, say")
    return None


def _rrule_with_dates(part: Part, model: TriggerModel, ground: Ground) -> Rrule | None:
    rule = build_rrule(part, model, ground)
    if rule is None:
        return None
    rdate = _walls(model.rdate, ground.zone)
    for index, wall in rdate:
        if wall < rule.start:
            message = f"rdate: {format_wall(wall)} is before the start; write an earlier start"
            part.refuse(["rdate", index], message)
    rule = replace(rule, rdate=tuple(sorted({wall for _, wall in rdate})))
    exdate = _walls(model.exdate, ground.zone)
    for index, wall in exdate:
        if not rrule_walls(rule, ground.zone, wall, wall + 1):
            message = f"exdate: {format_wall(wall)} is no time of this rule"
            part.refuse(["exdate", index], f"{message}; write one that is, or remove it")
    return replace(rule, exdate=tuple(sorted({wall for _, wall in exdate})))


def _walls(times: Sequence[datetime | None] | None, zone: Zone) -> list[tuple[int, int]]:
    """Wall times, each with its place in the list."""
    given = enumerate(times or ())
    return [(index, wall_of(time, zone)) for index, time in given if time is not None]


def _at(part: Part, model: TriggerModel, ground: Ground) -> At | None:
    if model.at is None:
        return None
    epochs = {_epoch(time, ground.zone) for time in model.at if time is not None}
    if not model.at:
        part.refuse(["at"], "at: holds no time; write [2026-07-04T12:00:00Z], say")
    return At(tuple(sorted(epochs))) if epochs else None


def _epoch(time: datetime, zone: Zone) -> int:
    return to_epoch(instant_of(time, zone))
