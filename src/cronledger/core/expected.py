"""Which keys a schedule owes in a window, by the versions then in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronledger.core.expand import Occurrence, expand, instants
from cronledger.core.instants import Window, Zone, from_epoch
from cronledger.core.schedule import Version
from cronledger.core.triggers import times_a_day

ZoneOf = Callable[[str], Zone]
_SECOND, _HOUR, _DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger knows of a schedule: its versions (ascending), and how far it was decided.

    Every key due before `decided_to` has been decided on once. What was recorded before `pruned_to`
    may have been dropped since; None: nothing has.
    """

    id: int
    name: str
    decided_to: datetime
    versions: tuple[Version, ...]
    pruned_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Owed:
    """One owed occurrence and the version that owes it."""

    version: int
    occurrence: Occurrence


def clock_of(version: Version, zone_of: ZoneOf) -> Zone:
    """The rules of the clock by which a version owes its keys."""
    return version.zone or zone_of(version.timing.timezone)


def expected(versions: Sequence[Version], window: Window, zone_of: ZoneOf) -> list[int]:
    """Epochs owed in `window`, ascending and unique, each by the version in force at it."""
    found: list[int] = []
    for version in versions:
        share = version.share_of(window)
        if share.start < share.end:
            found += instants(version.timing, clock_of(version, zone_of), share)
    return found


def slices(versions: Sequence[Version], window: Window, most: int) -> Iterator[tuple[Window, int]]:
    """`window` in parts that owe about `most` keys at most, each with a bound on what it owes.

    By the pace of the busiest version, so that no part has to be expanded first.
    """
    shares = (version.share_of(window) for version in versions)
    paces = [
        times_a_day(version.timing.trigger)
        for version, share in zip(versions, shares, strict=True)
        if share.start < share.end
    ]
    pace = max(paces, default=0)
    length = max(_HOUR, _DAY * most // max(1, pace))
    start = window.start
    while window.end - start > length:
        yield Window(start, start + length), _bound(pace, length)
        start += length
    yield Window(start, window.end), _bound(pace, window.end - start)


def _bound(pace: int, length: timedelta) -> int:
    """How many keys a span of that length can owe: one a second, and the pace of each day."""
    return min(-(-length // _SECOND), pace * -(-length // _DAY))


def owed(versions: Sequence[Version], epochs: Iterable[int], zone_of: ZoneOf) -> Iterator[Owed]:
    """The occurrences at `epochs` (ascending, each owed by some version), with their context."""
    wanted = sorted(epochs)
    for version in versions:
        mine = [e for e in wanted if version.is_in_force(from_epoch(e))]
        if not mine:
            continue
        zone = clock_of(version, zone_of)
        chosen = set(mine)
        # Spans are expanded by the day, so that a few keys far apart cost little.
        for window in _spans(version, mine):
            for occurrence in expand(version.timing, zone, window):
                if occurrence.instant in chosen:
                    yield Owed(version.number, occurrence)


def _spans(version: Version, epochs: Sequence[int]) -> Iterator[Window]:
    start = last = epochs[0]
    for epoch in epochs[1:]:
        if epoch - last > 86400:
            yield version.share_of(Window(from_epoch(start), from_epoch(last + 1)))
            start = epoch
        last = epoch
    yield version.share_of(Window(from_epoch(start), from_epoch(last + 1)))
