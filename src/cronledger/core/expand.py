"""A timing and a window to the occurrences owed in it: calendar days, clock times, DST policy."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, assert_never

from cronledger.core.cron import ever_matches, matching_days
from cronledger.core.instants import HORIZON, Segment, Window, Zone, from_epoch, to_epoch
from cronledger.core.schedule import DayRule, Fold, Gap, Timing, Wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cronledger.core.cron import Cron

_DAY: Final = 86400
# No clock was ever moved by more; a segment further away cannot touch a window.
_REACH: Final = 2 * _DAY
# The first day whose wall time every zone can spell as a date.
_DAWN: Final = (datetime(1, 1, 3) - datetime(1970, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001  # a difference of wall times
_FIRST_SPAN: Final = 3600
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One owed run. `instant` is an epoch, `offset` seconds east of UTC at it.

    `fold` is 1 where the clock shows this wall time for the second time. `collapsed` counts the
    wall times asked for that landed here, at least 1. `moved`: none of them is the wall time at
    `instant`; the clock jumped over all of them.
    """

    instant: int
    offset: int
    fold: int
    moved: bool
    collapsed: int

    @property
    def logical_time(self) -> datetime:
        """The instant, in aware UTC."""
        return from_epoch(self.instant)

    @property
    def local_time(self) -> datetime:
        """What the wall clock shows at the instant; naive."""
        return from_epoch(self.instant + self.offset).replace(tzinfo=None)


def expand(timing: Timing, zone: Zone, window: Window) -> list[Occurrence]:
    """The occurrences owed in `window`, ascending, one for each instant.

    Nothing is owed from HORIZON on. The halves of a window hold together what the whole holds.
    """
    real, moved = _find(timing, zone, window)
    return list(_describe(zone, _merge(real, moved), real, moved))


def instants(timing: Timing, zone: Zone, window: Window) -> list[int]:
    """The epochs of `expand`, without an object for each."""
    return _merge(*_find(timing, zone, window))


def next_after(timing: Timing, zone: Zone, after: datetime, limit: int) -> list[Occurrence]:
    """The first `limit` occurrences later than `after`; fewer if HORIZON or the end comes first."""
    start = to_epoch(after) + 1
    if timing.start is not None:
        start = max(start, to_epoch(timing.start))
    found: list[Occurrence] = []
    span = _FIRST_SPAN
    while len(found) < limit and start < _end_of(timing):
        end = min(start + span, HORIZON)
        real, moved = _find(timing, zone, Window(from_epoch(start), from_epoch(end)))
        merged = _merge(real, moved)[: limit - len(found)]
        found += _describe(zone, merged, real, moved)
        start, span = end, span * _GROWTH
    return found


def never_fires(timing: Timing) -> bool:
    """Whether no day matches under the timing's day rule, so that nothing is ever owed."""
    return not ever_matches(timing.trigger, unites=unites(timing.trigger, timing.day_rule))


def unites(cron: Cron, rule: DayRule) -> bool:
    """Whether a day is matched by either day field, rather than by both together."""
    match rule:
        case DayRule.VIXIE:
            return not (cron.day_starred or cron.weekday_starred)
        case DayRule.OR:
            return not (cron.day_bare or cron.weekday_bare)
        case DayRule.AND:
            return False
        case never:
            assert_never(never)


def _end_of(timing: Timing) -> int:
    return HORIZON if timing.end is None else min(HORIZON, to_epoch(timing.end) + 1)


def _merge(real: list[int], moved: list[int]) -> list[int]:
    return sorted({*real, *moved}) if moved else real


def _describe(
    zone: Zone, merged: Iterable[int], real: list[int], moved: list[int]
) -> Iterator[Occurrence]:
    landed = Counter(moved)
    own = set(real) if moved else set()
    for instant in merged:
        asked = not moved or instant in own
        yield Occurrence(
            instant,
            zone.offset_at(instant),
            zone.fold_at(instant),
            not asked,
            asked + landed[instant],
        )


def _find(timing: Timing, zone: Zone, window: Window) -> tuple[list[int], list[int]]:
    """The epochs in `window` whose own wall time is asked for, ascending, and those moved there.

    The moved ones stand once for each wall time that the clock jumped over.
    """
    start, end = _bounds(timing, window)
    if start >= end:
        return [], []
    gap, fold = timing.dst.gap, timing.dst.fold
    if _runs_on_every_slot(timing):
        gap, fold = Gap.SKIP, Fold.BOTH
    segments = list(zone.segments(start - _REACH, end + _REACH))
    real: list[int] = []
    for span in _counted(segments, fold, start, end):
        real += _matching(timing, span)
    moved = [at for at in _moved(timing, segments, gap) if start <= at < end]
    return real, moved


def _bounds(timing: Timing, window: Window) -> tuple[int, int]:
    if timing.start is not None or timing.end is not None:
        window = window.intersect(timing.start or window.start, timing.end)
    start, end = window.epochs()
    return max(start, _DAWN), min(end, HORIZON)


def _runs_on_every_slot(timing: Timing) -> bool:
    cron = timing.trigger
    match timing.dst.wildcard:
        case Wildcard.ELAPSED:
            return cron.minute_starred or cron.hour_starred
        case Wildcard.STAR:
            return cron.hour_bare
        case Wildcard.SAME:
            return False
        case never:
            assert_never(never)


def _counted(segments: list[Segment], fold: Fold, start: int, end: int) -> Iterator[Segment]:
    """The segments, cut to `[start, end)` and without the showing of a wall time that `fold` drops.

    Zones move their clocks days apart, so only neighbours can show one wall time twice.
    """
    for index, segment in enumerate(segments):
        first, last = segment.start, segment.end
        if fold is Fold.FIRST and index > 0:
            first += max(0, segments[index - 1].offset - segment.offset)
        if fold is Fold.SECOND and index + 1 < len(segments):
            last -= max(0, segment.offset - segments[index + 1].offset)
        first, last = max(first, start), min(last, end)
        if first < last:
            yield Segment(first, last, segment.offset)


def _moved(timing: Timing, segments: list[Segment], gap: Gap) -> Iterator[int]:
    """Where the wall times that the clock jumped over land: one epoch for each."""
    if gap is Gap.SKIP:
        return
    for before, after in pairwise(segments):
        change, length = after.start, after.offset - before.offset
        if length > 0:
            # Read with the offset before the gap, its wall times come right after the change.
            shifted = _matching(timing, Segment(change, change + length, before.offset))
            yield from shifted if gap is Gap.SHIFT else [change] * len(shifted)


def _matching(timing: Timing, span: Segment) -> list[int]:
    """The epochs of `span` whose wall time, read with the span's offset, is asked for."""
    cron, offset = timing.trigger, span.offset
    first, last = (span.start + offset) // _DAY, (span.end - 1 + offset) // _DAY
    days = matching_days(cron, first, last, unites=unites(cron, timing.day_rule))
    if not days:
        return []
    within = (span.start + offset - first * _DAY, span.end + offset - first * _DAY)
    slots = _slots(cron, *(within if first == last else (0, _DAY)))
    midnights = [day * _DAY - offset for day in days]
    found = [midnight + slot for midnight in midnights for slot in slots]
    return found[bisect_left(found, span.start) : bisect_left(found, span.end)]


def _slots(cron: Cron, start: int, end: int) -> Sequence[int]:
    """The seconds of the day that the clock fields name; all in `[start, end)`, few outside it."""
    minutes: Sequence[int] = _minutes_of_day(cron.hours, cron.minutes)
    if (start, end) != (0, _DAY):
        minutes = minutes[bisect_left(minutes, start - 59) : bisect_left(minutes, end)]
    if cron.seconds == (0,):
        return minutes
    return [minute + second for minute in minutes for second in cron.seconds]


# Schedules share few clock times, and a window of years asks for one again at each clock change.
@lru_cache(maxsize=512)
def _minutes_of_day(hours: tuple[int, ...], minutes: tuple[int, ...]) -> tuple[int, ...]:
    """The seconds since midnight at which each minute named begins, ascending."""
    return tuple(hour * 3600 + minute * 60 for hour in hours for minute in minutes)
