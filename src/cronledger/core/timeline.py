"""Which timing of a schedule is in force when, by its file; and what is owed next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cronledger.core.expand import Occurrence, expand, next_after
from cronledger.core.expected import ZoneOf, clock_of
from cronledger.core.instants import Window
from cronledger.core.schedule import Dated, Schedule, Timing, Version

# Before every instant at which something can be owed.
ALWAYS = datetime(1, 1, 2, tzinfo=UTC)
_TICK = timedelta(seconds=1)


def timeline(schedule: Schedule) -> tuple[Version, ...]:
    """The versions that the file alone gives a schedule, ascending; one of all times if undated."""
    dated = schedule.versions or (Dated(ALWAYS, schedule.timing),)
    ends = [*(each.effective_from for each in dated[1:]), None]
    return tuple(
        Version(number, each.effective_from, end, each.timing)
        for number, (each, end) in enumerate(zip(dated, ends, strict=True), 1)
    )


def timings_from(schedule: Schedule, at: datetime) -> tuple[Timing, ...]:
    """The timings that are in force at that instant or later, ascending."""
    return tuple(
        version.timing
        for version in timeline(schedule)
        if version.effective_to is None or version.effective_to > at
    )


def in_force(versions: Sequence[Version], at: datetime) -> Version | None:
    """The version of that instant, if there is one."""
    for version in versions:
        ends = version.effective_to
        if version.effective_from <= at and (ends is None or at < ends):
            return version
    return None


def occurrences(versions: Sequence[Version], window: Window, zone_of: ZoneOf) -> list[Occurrence]:
    """What the versions owe in `window`, ascending, each by the version in force at it."""
    found: list[Occurrence] = []
    for version in versions:
        share = version.share_of(window)
        if share.start < share.end:
            found += expand(version.timing, clock_of(version, zone_of), share)
    return found


def next_owed(
    versions: Sequence[Version], after: datetime, limit: int, zone_of: ZoneOf
) -> list[Occurrence]:
    """The first `limit` occurrences later than `after`, across versions; as `next_after`."""
    found: list[Occurrence] = []
    for version in versions:
        ends = version.effective_to
        if len(found) == limit or (ends is not None and ends <= after):
            continue
        timing = version.timing
        if ends is not None:
            timing = replace(timing, end=ends if timing.end is None else min(timing.end, ends))
        start = max(after, version.effective_from - _TICK)
        found += next_after(timing, clock_of(version, zone_of), start, limit - len(found))
    return found
