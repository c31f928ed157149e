"""Parts of the file to schedules and queues: defaults filled in, values checked together."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cronledger.adapters.config.calendars import build_exclusions, calendar_of, check_roll
from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.models import (
    NAME_FORM,
    QUEUE_NAME,
    DefaultsModel,
    JobModel,
    QueueModel,
    ScheduleModel,
)
from cronledger.adapters.config.nodes import entry_at
from cronledger.adapters.config.payload import read_payload
from cronledger.adapters.config.triggers import KINDS, Ground, build_trigger
from cronledger.adapters.config.zonebook import ZoneBook, instant_of
from cronledger.core.cron import Cron
from cronledger.core.every import Elapsed, Stride
from cronledger.core.expand import never_fires, next_after
from cronledger.core.instants import EPOCH
from cronledger.core.keys import SCHEDULE_ID, OccurrenceKey
from cronledger.core.parameters import prefixes, with_parameters
from cronledger.core.rrule import Rrule
from cronledger.core.schedule import (
    DST_PRESETS,
    Catchup,
    JobSpec,
    Pause,
    QueueSpec,
    Schedule,
    Timing,
)
from cronledger.core.triggers import NOTHING_EXCLUDED, Single, Trigger, singles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime

    from pydantic import BaseModel

    from cronledger.adapters.config.part import Part
    from cronledger.core.calendars import Calendar
    from cronledger.core.instants import Zone

_CORE_ZONE = str(next(given.default for given in fields(Timing) if given.name == "timezone"))
ID_LENGTH_MAX = 200
_BEFORE_ALL = EPOCH - timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the file gives for all schedules. `zone` is None if the zone given is unknown."""

    model: DefaultsModel
    zone: Zone | None
    calendars: Mapping[str, Calendar | None]


def build_defaults(
    part: Part | None, zones: ZoneBook, calendars: Mapping[str, Calendar | None]
) -> Defaults:
    """The defaults of the file, and its calendars; those of the core where it has none."""
    model = DefaultsModel() if part is None else part.shape(DefaultsModel)
    if part is None or model.timezone is None:
        return Defaults(model, zones.find(_CORE_ZONE), calendars)
    return Defaults(model, _zone(part, model.timezone, zones), calendars)


def build_queue(part: Part, name: str) -> QueueSpec:
    """One queue; what it leaves out is as the core has it."""
    if QUEUE_NAME.fullmatch(name) is None:
        part.refuse_at(part.place, f"{shown(name)} is no queue name; write {NAME_FORM}")
    model = part.shape(QueueModel)
    given = _given(model)
    backoff = _given(given.pop("backoff", None))
    queue = QueueSpec(name, **given, **{f"backoff_{key}": span for key, span in backoff.items()})
    if queue.backoff_cap < queue.backoff_base:
        part.refuse(["backoff"], "backoff: cap is shorter than base; write a longer cap")
    return queue


def build_schedules(part: Part, name: str, defaults: Defaults, zones: ZoneBook) -> list[Schedule]:
    """One schedule, or one for each combination of its parameters; none if its times are wrong."""
    if SCHEDULE_ID.fullmatch(name) is None:
        part.refuse_at(part.place, f"{shown(name)} is no schedule id; write {NAME_FORM}")
    model = part.shape(ScheduleModel)
    zone = defaults.zone if model.timezone is None else _zone(part, model.timezone, zones)
    job = _job(part, model.job, defaults, name)
    matrix = model.matrix or {}
    ids = dict(prefixes(name, matrix))
    skip = frozenset(_skipped(part, model, ids))
    # In an unknown zone the rest is still worth reading, for its mistakes.
    timing = _timing(part, model, defaults, Ground(name, zone or zones.find(_CORE_ZONE)))
    if zone is None:
        return []
    pauses = tuple(_pauses(part, model, zone))
    if timing is None:
        return []
    _check_fires(part, timing, zone)
    _check_parameters(part, job, ids)
    policies = _policies(model, defaults.model)
    return with_parameters(
        Schedule(name, timing, job, pauses=pauses, skip=skip, **policies), matrix
    )


def _check_parameters(part: Part, job: JobSpec, ids: Mapping[str, dict[str, str]]) -> None:
    if max(map(len, ids)) > ID_LENGTH_MAX:
        part.refuse(["matrix"], f"matrix: ids get longer than {ID_LENGTH_MAX}; shorten the values")
    both = sorted({key for given in ids.values() for key in given} & set(job.payload))
    if both:
        message = f"matrix: {both[0]!r} stands in the payload too; remove one of the two"
        part.refuse(["matrix"], message)


def _timing(part: Part, model: ScheduleModel, defaults: Defaults, ground: Ground) -> Timing | None:
    trigger = build_trigger(part, model, ground)
    bounds = _bounds(part, model, ground.zone)
    calendar, roll = calendar_of(part, model, defaults.calendars)
    exclusions = build_exclusions(part, replace(ground, start=model.start))
    if trigger is None or bounds is None:
        return None
    check_roll(part, trigger, roll)
    start, end = bounds
    if isinstance(trigger, Elapsed | Stride | Rrule):
        # It counts from its start, and yields nothing before.
        start = None
    return Timing(
        trigger,
        ground.zone.name,
        start=start,
        end=end,
        calendar=calendar,
        roll=roll,
        exclusions=exclusions,
        **_rules(part, trigger, model, defaults.model),
    )


def _zone(part: Part, name: str, zones: ZoneBook) -> Zone | None:
    try:
        return zones.find(name)
    except ValueError as error:
        part.refuse(["timezone"], str(error))
        return None


def _bounds(
    part: Part, model: ScheduleModel, zone: Zone
) -> tuple[datetime | None, datetime | None] | None:
    start = None if model.start is None else instant_of(model.start, zone)
    end = None if model.end is None else instant_of(model.end, zone)
    if start is not None and end is not None and end <= start:
        part.refuse(["end"], "end: is not after start; write a later end, or a start before it")
        return None
    return start, end


def _check_fires(part: Part, timing: Timing, zone: Zone) -> None:
    kind = next(kind for kind in part.node.entries if kind in KINDS)
    path = [kind, "expr"] if kind == "cron" else [kind]
    alone = Timing(timing.trigger, timing.timezone, timing.dst, timing.day_rule)
    if never_fires(timing):
        message = f"no day fits under day_rule {timing.day_rule}, so it never fires"
        part.refuse(path, f"{message}; change the day, the weekday or the rule")
    elif isinstance(timing.trigger, Cron) and timing == alone:
        # Of a cron without bounds the days have told already.
        return
    elif not next_after(timing, zone, _BEFORE_ALL, 1):
        part.refuse(path, _never(timing))
    for index, single in enumerate(singles(timing.trigger)):
        if kind == "any" and not next_after(replace(alone, trigger=single), zone, _BEFORE_ALL, 1):
            part.refuse(["any", index], _never(alone))


def _never(timing: Timing) -> str:
    if timing.calendar is not None or timing.exclusions != NOTHING_EXCLUDED:
        return "the calendar or 'except' leaves no time of it, so it never fires; leave out less"
    if timing.start is not None or timing.end is not None:
        message = "no time of it lies between start and end, so it never fires"
        return f"{message}; change the expression or the bounds"
    return "no time fits all of it, so it never fires; change or remove a part"


def _pauses(part: Part, model: ScheduleModel, zone: Zone) -> Iterator[Pause]:
    for index, pause in enumerate(model.pause or ()):
        if pause is None:
            continue
        start = instant_of(pause.start, zone)
        end = None if pause.end is None else instant_of(pause.end, zone)
        if end is not None and end <= start:
            part.refuse(
                ["pause", index, "to"],
                "pause.to: is not after 'from'; write a later time, or remove it for no end",
            )
        yield Pause(start, end, pause.reason)


def _skipped(part: Part, model: ScheduleModel, ids: Collection[str]) -> Iterator[OccurrenceKey]:
    for index, text in enumerate(model.skip or ()):
        if text is None:
            continue
        try:
            key = OccurrenceKey.parse(text)
        except ValueError as error:
            part.refuse(["skip", index], f"skip: {error}")
            continue
        if key.schedule not in ids:
            mine = next(iter(ids))
            message = f"skip: {shown(text)} is of another schedule; write {mine}:<logical time>"
            part.refuse(["skip", index], message)
        yield key


def _job(part: Part, model: JobModel | None, defaults: Defaults, name: str) -> JobSpec:
    given = {"kind": name} | _given(defaults.model.job) | _given(model)
    payload = entry_at(part.node, ["job", "payload"])
    if payload is not None:
        given["payload"] = read_payload(payload.value, part.refuse_at)
    return JobSpec(**given)


def _rules(
    part: Part, trigger: Trigger, model: ScheduleModel, defaults: DefaultsModel
) -> dict[str, Any]:
    """The policies of the timing; a `dst` given in part is filled from that of the trigger."""
    dst = _given(defaults.dst) | _given(model.dst)
    presets = {_preset_of(single) for single in singles(trigger)} - {""}
    if len(presets) > 1 and not dst:
        message = "any: a cron and a rule of dates differ about clock changes unless one is chosen"
        part.refuse(["any"], f"{message}; write dst: cron or dst: rfc5545")
    preset = "rfc5545" if presets == {"rfc5545"} else "cron"
    rules: dict[str, Any] = {"dst": replace(DST_PRESETS[preset], **dst)}
    day_rule = model.day_rule or defaults.day_rule
    if day_rule is not None:
        rules["day_rule"] = day_rule
    return rules


def _preset_of(trigger: Single) -> str:
    """What a trigger does at clock changes unless it is told; "" if they do not touch it."""
    match trigger:
        case Cron():
            return "cron"
        case Stride() | Rrule():
            return "rfc5545"
        case _:
            return ""


def _policies(model: ScheduleModel, defaults: DefaultsModel) -> dict[str, Any]:
    """The policies around the timing that are given, by the schedule or else by `defaults`."""
    both = _given(defaults) | _given(model)
    names = ("grace", "objective", "deadline", "overlap", "splay", "managed_by")
    policies = {key: both[key] for key in names if key in both}
    if model.aliases:
        policies["aliases"] = tuple(alias for alias in model.aliases if alias is not None)
    catchup = _given(defaults.catchup) | _given(model.catchup)
    return policies | ({"catchup": Catchup(**catchup)} if catchup else {})


def _given(model: BaseModel | None) -> dict[str, Any]:
    """The values that the file gives, by field name."""
    return {} if model is None else {k: v for k, v in model if v is not None}
