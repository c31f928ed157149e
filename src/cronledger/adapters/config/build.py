"""Parts of the file to schedules and queues: defaults filled in, values checked together."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.models import (
    NAME_FORM,
    QUEUE_NAME,
    CronModel,
    DefaultsModel,
    JobModel,
    QueueModel,
    ScheduleModel,
)
from cronledger.adapters.config.nodes import entry_at
from cronledger.adapters.config.payload import read_payload
from cronledger.adapters.config.zonebook import ZoneBook, instant_of
from cronledger.core import cron
from cronledger.core.expand import never_fires, next_after
from cronledger.core.instants import EPOCH
from cronledger.core.keys import SCHEDULE_ID, OccurrenceKey
from cronledger.core.schedule import (
    DST_PRESETS,
    Catchup,
    JobSpec,
    Pause,
    QueueSpec,
    Schedule,
    Timing,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pydantic import BaseModel

    from cronledger.adapters.config.part import Part
    from cronledger.core.instants import Zone

_CORE_ZONE = str(next(given.default for given in fields(Timing) if given.name == "timezone"))
_EXAMPLE = 'write for example cron: "0 2 * * *"'


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the file gives for all schedules. `zone` is None if the zone given is unknown."""

    model: DefaultsModel
    zone: Zone | None


def build_defaults(part: Part | None, zones: ZoneBook) -> Defaults:
    """The defaults of the file; those of the core where it has none."""
    model = DefaultsModel() if part is None else part.shape(DefaultsModel)
    if part is None or model.timezone is None:
        return Defaults(model, zones.find(_CORE_ZONE))
    return Defaults(model, _zone(part, model.timezone, zones))


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


def build_schedule(part: Part, name: str, defaults: Defaults, zones: ZoneBook) -> Schedule | None:
    """One schedule, or None if what decides its times is missing or wrong."""
    if SCHEDULE_ID.fullmatch(name) is None:
        part.refuse_at(part.place, f"{shown(name)} is no schedule id; write {NAME_FORM}")
    model = part.shape(ScheduleModel)
    trigger = _trigger(part, model.cron)
    zone = defaults.zone if model.timezone is None else _zone(part, model.timezone, zones)
    job = _job(part, model.job, defaults, name)
    skip = frozenset(_skipped(part, model, name))
    if zone is None:
        return None
    pauses = tuple(_pauses(part, model, zone))
    bounds = _bounds(part, model, zone)
    if trigger is None or bounds is None:
        return None
    rules = _rules(model, defaults.model)
    timing = Timing(trigger, zone.name, start=bounds[0], end=bounds[1], **rules)
    _check_fires(part, timing, zone)
    policies = _policies(model, defaults.model)
    return Schedule(name, timing, job, pauses=pauses, skip=skip, **policies)


def _trigger(part: Part, model: CronModel | None) -> cron.Cron | None:
    if model is None:
        if not part.stands_for("cron"):
            part.refuse_at(part.place, f"missing key 'cron'; {_EXAMPLE}")
        return None
    try:
        return cron.parse(model.expr, model.layout)
    except cron.CronError as error:
        part.refuse(["cron", "expr"], error.message, error.column)
        return None


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
    if never_fires(timing):
        message = f"no day fits under day_rule {timing.day_rule}, so it never fires"
        part.refuse(["cron", "expr"], f"{message}; change the day, the weekday or the rule")
    elif timing.start is not None or timing.end is not None:
        before = (timing.start or EPOCH) - timedelta(seconds=1)
        if not next_after(timing, zone, before, 1):
            message = "no time of it lies between start and end, so it never fires"
            part.refuse(["cron", "expr"], f"{message}; change the expression or the bounds")


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


def _skipped(part: Part, model: ScheduleModel, name: str) -> Iterator[OccurrenceKey]:
    for index, text in enumerate(model.skip or ()):
        if text is None:
            continue
        try:
            key = OccurrenceKey.parse(text)
        except ValueError as error:
            part.refuse(["skip", index], f"skip: {error}")
            continue
        if key.schedule != name:
            message = f"skip: {shown(text)} is of another schedule; write {name}:<logical time>"
            part.refuse(["skip", index], message)
        yield key


def _job(part: Part, model: JobModel | None, defaults: Defaults, name: str) -> JobSpec:
    given = {"kind": name} | _given(defaults.model.job) | _given(model)
    payload = entry_at(part.node, ["job", "payload"])
    if payload is not None:
        given["payload"] = read_payload(payload.value, part.refuse_at)
    return JobSpec(**given)


def _rules(model: ScheduleModel, defaults: DefaultsModel) -> dict[str, Any]:
    """The parts of the timing that are given; a `dst` given in part is filled from `cron`."""
    rules: dict[str, Any] = {}
    dst = _given(defaults.dst) | _given(model.dst)
    if dst:
        rules["dst"] = replace(DST_PRESETS["cron"], **dst)
    day_rule = model.day_rule or defaults.day_rule
    if day_rule is not None:
        rules["day_rule"] = day_rule
    return rules


def _policies(model: ScheduleModel, defaults: DefaultsModel) -> dict[str, Any]:
    """The policies around the timing that are given, by the schedule or else by `defaults`."""
    both = _given(defaults) | _given(model)
    policies = {key: both[key] for key in ("grace", "objective", "deadline") if key in both}
    catchup = _given(defaults.catchup) | _given(model.catchup)
    return policies | ({"catchup": Catchup(**catchup)} if catchup else {})


def _given(model: BaseModel | None) -> dict[str, Any]:
    """The values that the file gives, by field name."""
    return {} if model is None else {k: v for k, v in model if v is not None}
