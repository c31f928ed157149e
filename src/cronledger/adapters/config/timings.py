"""A part of the file to its timing, or to several with the dates from which they are in force."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cronledger.adapters.config.calendars import build_exclusions, calendar_of, check_roll
from cronledger.adapters.config.models import (
    DefaultsModel,
    ScheduleModel,
    TimingModel,
    TriggerModel,
    VersionModel,
    given_by,
)
from cronledger.adapters.config.nodes import MapNode
from cronledger.adapters.config.part import Part
from cronledger.adapters.config.triggers import KINDS, Ground, build_trigger
from cronledger.adapters.config.words import keys_of
from cronledger.adapters.config.zonebook import ZoneBook, instant_of
from cronledger.core.cron import Cron
from cronledger.core.every import Elapsed, Stride
from cronledger.core.expand import never_fires, next_after
from cronledger.core.instants import EPOCH, format_instant
from cronledger.core.rrule import Rrule
from cronledger.core.schedule import DST_PRESETS, Dated, Timing
from cronledger.core.timeline import ALWAYS
from cronledger.core.triggers import NOTHING_EXCLUDED, Single, Trigger, singles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from cronledger.core.calendars import Calendar
    from cronledger.core.instants import Zone

VERSIONS_MAX = 100
_CORE_ZONE = str(next(known.default for known in fields(Timing) if known.name == "timezone"))
_BEFORE_ALL = EPOCH - timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the file gives for all schedules. `zone` is None if the zone given is unknown."""

    model: DefaultsModel
    zone: Zone | None
    calendars: Mapping[str, Calendar | None]
    zones: ZoneBook


@dataclass(frozen=True, slots=True)
class Times:
    """What a schedule owes and when: its newest timing, and all with their dates if it has dates.

    None, and reported, what is wrong; `zone` is the clock of the newest.
    """

    zone: Zone | None
    timing: Timing | None
    versions: tuple[Dated, ...] = ()


def build_defaults(
    part: Part | None, zones: ZoneBook, calendars: Mapping[str, Calendar | None]
) -> Defaults:
    """The defaults of the file, and its calendars; those of the core where it has none."""
    model = DefaultsModel() if part is None else part.shape(DefaultsModel)
    zone: Zone | None = zones.find(_CORE_ZONE)
    if part is not None and model.timezone is not None:
        zone = zone_named(part, model.timezone, zones)
    return Defaults(model, zone, calendars, zones)


def build_times(part: Part, model: ScheduleModel, name: str, defaults: Defaults) -> Times:
    """The times of one schedule."""
    if "versions" not in part.node.entries:
        return _undated(part, model, name, defaults)
    _refuse_beside_versions(part)
    versions: list[Dated] = []
    newest = Times(None, None)
    whole = True
    for number, item in enumerate(part.items("versions")):
        if number == VERSIONS_MAX:
            part.refuse(["versions"], f"versions: more than {VERSIONS_MAX}; remove the oldest")
            break
        own = item.shape(VersionModel)
        full, merged = _with_shared(part, model, item, own)
        newest = _undated(full, merged, name, defaults)
        since = _effective_from(item, own, newest.zone, versions)
        if newest.timing is None or since is None:
            whole = False
            continue
        versions.append(Dated(since, newest.timing))
    if model.versions == []:
        part.refuse(["versions"], "versions: holds none; write a trigger in their place")
    if not versions or not whole:
        return Times(newest.zone, None)
    return replace(newest, versions=tuple(versions))


def _undated(part: Part, model: TimingModel, name: str, defaults: Defaults) -> Times:
    zones = defaults.zones
    zone = defaults.zone if model.timezone is None else zone_named(part, model.timezone, zones)
    # In an unknown zone the rest is still worth reading, for its mistakes.
    timing = _timing(part, model, defaults, Ground(name, zone or zones.find(_CORE_ZONE)))
    if zone is None or timing is None:
        return Times(zone, None)
    _check_fires(part, timing, zone)
    return Times(zone, timing)


def _refuse_beside_versions(part: Part) -> None:
    """What names times belongs to each version; the other keys hold for those without their own."""
    for key in (*keys_of(TriggerModel), "any"):
        entry = part.node.entries.get(key)
        if entry is not None:
            message = f"'{key}' stands beside 'versions'; write it in each of them"
            part.refuse_at(entry.key_place, message)


def _with_shared(
    part: Part, model: ScheduleModel, item: Part, own: VersionModel
) -> tuple[Part, TimingModel]:
    """A version with the keys of the schedule that it does not have itself."""
    names = {info.alias or name: name for name, info in TimingModel.model_fields.items()}
    shared = {key: part.node.entries[key] for key in names if key in part.node.entries}
    shared = {key: entry for key, entry in shared.items() if key not in item.node.entries}
    node = MapNode({**shared, **item.node.entries}, item.node.place)
    values = {names[key]: getattr(model, names[key]) for key in shared}
    return replace(item, node=node), own.model_copy(update=values)


def _effective_from(
    item: Part, model: VersionModel, zone: Zone | None, earlier: list[Dated]
) -> datetime | None:
    """From when on the version is in force; the first may have no date."""
    key = "effective_from"
    if model.effective_from is None or zone is None:
        if key in item.node.entries or zone is None:
            return None
        if not earlier:
            return ALWAYS
        item.refuse_at(item.place, f"missing key '{key}'; only the first version may lack it")
        return None
    since = instant_of(model.effective_from, zone)
    if earlier and since <= earlier[-1].effective_from:
        before = format_instant(earlier[-1].effective_from)
        message = f"{key}: is not after that of the version above, {before}; write them in order"
        item.refuse([key], message)
        return None
    return since


def _timing(part: Part, model: TimingModel, defaults: Defaults, ground: Ground) -> Timing | None:
    trigger = build_trigger(part, model, ground)
    bounds = _bounds(part, model, ground.zone)
    calendar, roll = calendar_of(part, model, defaults.calendars)
    exclusions = NOTHING_EXCLUDED
    if "except" in part.node.entries:
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


def zone_named(part: Part, name: str, zones: ZoneBook) -> Zone | None:
    try:
        return zones.find(name)
    except ValueError as error:
        part.refuse(["timezone"], str(error))
        return None


def _bounds(
    part: Part, model: TimingModel, zone: Zone
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


def _rules(
    part: Part, trigger: Trigger, model: TimingModel, defaults: DefaultsModel
) -> dict[str, Any]:
    """The policies of the timing; a `dst` given in part is filled from that of the trigger."""
    dst = given_by(defaults.dst) | given_by(model.dst)
    presets = {_preset_of(single) for single in singles(trigger)} - {""}
    if len(presets) > 1 and not dst:
        message = "any: a cron and a rule of dates differ about clock changes unless one is chosen"
        part.refuse(["any"], f"{message}; write dst: cron or dst: rfc5545")
    preset = "rfc5545" if presets == {"rfc5545"} else "cron"
    rules: dict[str, Any] = {
        "dst": replace(DST_PRESETS[preset], **dst) if dst else DST_PRESETS[preset]
    }
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
