"""What loading a file does that nobody wrote: keys that move unedited, schedules that end.

Keys move by newer zone data, or by our reading of the file. What an edit moves on purpose is not
told here; `core/edits` compares files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from cronledger.core.edits import Edit, compare_keys, goes_on
from cronledger.core.expected import Standing
from cronledger.core.findings import AHEAD, CRON_PATH, Finding, Severity
from cronledger.core.instants import Window, Zone, format_instant, from_epoch, same_rules
from cronledger.core.schedule import Schedule, Version, known_as
from cronledger.core.spec import timing_hash
from cronledger.core.timeline import in_force, timeline

ZoneOf = Callable[[str], Zone]


def moved_keys(
    schedules: Iterable[Schedule],
    standings: Mapping[str, Standing],
    zone_of: ZoneOf,
    now: datetime,
) -> Iterator[Finding]:
    """One finding for each schedule of which a key within two years would move."""
    for schedule in schedules:
        standing = standings.get(schedule.id)
        wanted = in_force(timeline(schedule), now)
        held = None if standing is None else in_force(standing.versions, now)
        if standing is None or held is None or wanted is None:
            continue
        cause = _cause(held, wanted, zone_of, now)
        if cause is None:
            continue
        window = Window(now, now + AHEAD)
        edit = compare_keys(standing.versions, timeline(schedule), zone_of, window)
        if edit.added or edit.removed or edit.moved:
            what, path = cause
            message = f"{what} {_touched(edit)}; load the file to follow it, or keep the older one"
            yield Finding("moved-keys", Severity.WARNING, message, schedule.id, path)


def ending(
    schedules: Mapping[str, Schedule], standings: Mapping[str, Standing]
) -> Iterator[Finding]:
    """One finding for each schedule in force that the file neither has nor has renamed."""
    known = known_as(schedules)
    for name, standing in standings.items():
        if name not in known and goes_on(standing.versions):
            message = (
                f"{name}: the ledger has it in force and this file does not, so loading the file"
                " ends it; put it back, or name it under `aliases` where it was renamed"
            )
            yield Finding("ending-schedules", Severity.WARNING, message)


def _cause(
    held: Version, wanted: Version, zone_of: ZoneOf, now: datetime
) -> tuple[str, tuple[str, ...]] | None:
    """What moves the keys of a timing that nobody edited, and which key of the file it is about."""
    old, new = held.timing, wanted.timing
    if timing_hash(old) == timing_hash(new):
        zone = zone_of(new.timezone)
        if held.zone is None or same_rules(held.zone, zone, now):
            return None
        return f"zone data {zone.version} in place of {held.zone.version}", ("timezone",)
    if old.trigger.text == new.trigger.text and replace(old, trigger=new.trigger) == new:
        return f"this version, which reads {new.trigger.text!r} otherwise,", CRON_PATH
    return None


def _touched(edit: Edit) -> str:
    """Which keys of the next two years, with the first of each kind."""
    first = {
        "moves": [f"{_at(old)} to {_at(new)}" for old, new in edit.moved[:1]],
        "removes": [_at(at) for at in edit.removed[:1]],
        "adds": [_at(at) for at in edit.added[:1]],
    }
    counts = {
        "moves": len(edit.moved),
        "removes": len(edit.removed),
        "adds": len(edit.added),
    }
    said = [
        f"{word} {counts[word]} key{'s' * (counts[word] != 1)} within 2 years, the first {shown[0]}"
        for word, shown in first.items()
        if shown
    ]
    return " and ".join(said)


def _at(epoch: int) -> str:
    return format_instant(from_epoch(epoch))
