"""A timing and a window to the occurrences owed in it: wall times to instants by DST policy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from cronledger.core.cron import Cron
from cronledger.core.every import Elapsed
from cronledger.core.instants import HORIZON, Segment, Window, Zone, from_epoch, to_epoch
from cronledger.core.nominal import first_asked, matching, matching_instants, never_asks
from cronledger.core.schedule import Fold, Gap, Timing, Wildcard
from cronledger.core.triggers import At, first_epoch, singles, times_a_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cronledger.core.triggers import OnWallClock, Trigger

_DAY: Final = 86400
# No clock was ever moved by more; a segment further away cannot touch a window.
_REACH: Final = 2 * _DAY
# The first day whose wall time every zone can spell as a date.
_DAWN: Final = (datetime(1, 1, 3) - datetime(1970, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001  # a difference of wall times
# What a schedule that runs on every real slot does at a clock change: nothing.
_EVERY_SLOT: Final = (Gap.SKIP, Fold.BOTH)
_FIRST_SPAN: Final = 3600
_GROWTH: Final = 4
# What one step of a search looks at, and how many such steps find nothing before it ends.
_SPAN_TIMES: Final = 50_000
_TRIES: Final = 16


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
    """The first `limit` occurrences later than `after`; fewer if HORIZON or the end comes first.

    Fewer as well where exclusions leave nothing of the next `_TRIES` spans full of times.
    """
    start = _start_of(timing, to_epoch(after) + 1)
    found: list[Occurrence] = []
    span, longest = _FIRST_SPAN, _longest_span(timing.trigger)
    tries = 0
    while len(found) < limit and start < _end_of(timing) and tries < _TRIES:
        if span >= longest:
            # Where times are dense it pays to look for the next day that has any.
            start = _leap(timing, zone, start)
        end = min(start + span, HORIZON)
        real, moved = _find(timing, zone, Window(from_epoch(start), from_epoch(max(start, end))))
        merged = _merge(real, moved)[: limit - len(found)]
        found += _describe(zone, merged, real, moved)
        tries = 0 if merged or span < longest else tries + 1
        start, span = end, min(span * _GROWTH, longest)
    return found


def never_fires(timing: Timing) -> bool:
    """Whether no day matches under the timing's day rule, so that nothing is ever owed.

    Of triggers other than cron only `next_after` can tell.
    """
    every = singles(timing.trigger)
    return all(isinstance(single, Cron) and never_asks(timing, single) for single in every)


def _start_of(timing: Timing, start: int) -> int:
    """`start`, or later if nothing can be owed before."""
    if timing.start is not None:
        start = max(start, to_epoch(timing.start))
    first = first_epoch(timing.trigger)
    return start if first is None else max(start, first)


def _longest_span(trigger: Trigger) -> int:
    """A span with at most `_SPAN_TIMES` times in it, but a day at least."""
    return max(_DAY, _SPAN_TIMES // max(1, times_a_day(trigger)) * _DAY)


def _leap(timing: Timing, zone: Zone, start: int) -> int:
    """`start`, or a later epoch up to which nothing is owed; HORIZON if nothing is from there."""
    for first, last in timing.exclusions.spans:
        if first <= start < last:
            start = last
    nearest = (first_asked(timing, single, zone, start) for single in singles(timing.trigger))
    return min(max(start, min(nearest, default=HORIZON)), HORIZON)


def _end_of(timing: Timing) -> int:
    return HORIZON if timing.end is None else min(HORIZON, to_epoch(timing.end) + 1)


def _merge(real: list[int], moved: list[int]) -> list[int]:
    return sorted({*real, *moved}) if moved else real


def _describe(
    zone: Zone, merged: Sequence[int], real: list[int], moved: list[int]
) -> Iterator[Occurrence]:
    if not moved and merged and _keeps_offset(zone, merged[0], merged[-1]):
        offset = zone.offset_at(merged[0])
        yield from (Occurrence(instant, offset, 0, False, 1) for instant in merged)
        return
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


def _keeps_offset(zone: Zone, first: int, last: int) -> bool:
    """Whether no clock change is near, so that no wall time from `first` to `last` comes twice."""
    return len(list(zone.segments(first - _REACH, last + 1))) == 1


def _find(timing: Timing, zone: Zone, window: Window) -> tuple[list[int], list[int]]:
    """The epochs in `window` whose own wall time is asked for, ascending, and those moved there.

    The moved ones stand once for each wall time that the clock jumped over.
    """
    parts: list[tuple[list[int], list[int]]] = []
    for start, end in _open_spans(timing, *_bounds(timing, window)):
        segments = tuple(zone.segments(start - _REACH, end + _REACH))
        if len(segments) == 1:
            # No clock change is near, so that every policy says the same.
            parts.append((_on_steady_clock(timing, zone, start, end, segments[0].offset), []))
        else:
            parts += _parts(_Scene(timing, zone, segments, start, end))
    if len(parts) == 1:
        return parts[0]
    real = sorted({at for own, _ in parts for at in own})
    return real, [at for _, moved in parts for at in moved]


def _on_steady_clock(timing: Timing, zone: Zone, start: int, end: int, offset: int) -> list[int]:
    span = Segment(start, end, offset)
    trigger = timing.trigger
    if isinstance(trigger, Cron):
        return matching(timing, (trigger,), zone, span)
    every = singles(trigger)
    on_clock = [single for single in every if not isinstance(single, Elapsed | At)]
    found = matching(timing, on_clock, zone, span) if on_clock else []
    for single in every:
        if isinstance(single, Elapsed | At):
            found += matching_instants(timing, single, zone, span)
    return sorted(set(found)) if len(every) > 1 else found


class _Scene(NamedTuple):
    """A timing and the span of epochs `[start, end)` looked at; `segments` reach beyond it."""

    timing: Timing
    zone: Zone
    segments: tuple[Segment, ...]
    start: int
    end: int


def _bounds(timing: Timing, window: Window) -> tuple[int, int]:
    if timing.start is not None or timing.end is not None:
        window = window.intersect(timing.start or window.start, timing.end)
    start, end = window.epochs()
    return max(start, _DAWN), min(end, HORIZON)


def _open_spans(timing: Timing, start: int, end: int) -> Iterator[tuple[int, int]]:
    """`[start, end)` without the spans of the exclusions."""
    for first, last in timing.exclusions.spans:
        if start < min(first, end):
            yield start, min(first, end)
        start = max(start, last)
    if start < end:
        yield start, end


def _parts(scene: _Scene) -> Iterator[tuple[list[int], list[int]]]:
    """What each part of the trigger yields: as `_find`."""
    dst, trigger = scene.timing.dst, scene.timing.trigger
    if isinstance(trigger, Cron):
        steady = _runs_on_every_slot(trigger, dst.wildcard)
        yield _on_clock(scene, (trigger,), *(_EVERY_SLOT if steady else (dst.gap, dst.fold)))
        return
    every = singles(trigger)
    on_clock = [single for single in every if not isinstance(single, Elapsed | At)]
    always = [single for single in on_clock if _runs_on_every_slot(single, dst.wildcard)]
    # Together, so that a wall time that two of them name is moved once.
    fixed = [single for single in on_clock if single not in always]
    if always:
        yield _on_clock(scene, always, *_EVERY_SLOT)
    if fixed:
        yield _on_clock(scene, fixed, dst.gap, dst.fold)
    for single in every:
        if isinstance(single, Elapsed | At):
            spans = _counted(scene, Fold.BOTH)
            found = [matching_instants(scene.timing, single, scene.zone, span) for span in spans]
            yield list(chain.from_iterable(found)), []


def _runs_on_every_slot(trigger: OnWallClock, wildcard: Wildcard) -> bool:
    if not isinstance(trigger, Cron):
        return False
    if wildcard is Wildcard.ELAPSED:
        return trigger.minute_starred or trigger.hour_starred
    return wildcard is Wildcard.STAR and trigger.hour_bare


def _on_clock(
    scene: _Scene, triggers: Sequence[OnWallClock], gap: Gap, fold: Fold
) -> tuple[list[int], list[int]]:
    real: list[int] = []
    for span in _counted(scene, fold):
        real += matching(scene.timing, triggers, scene.zone, span)
    return real, [at for at in _moved(scene, triggers, gap) if scene.start <= at < scene.end]


def _counted(scene: _Scene, fold: Fold) -> Iterator[Segment]:
    """The segments, cut to the scene and without the showing of a wall time that `fold` drops.

    Zones move their clocks days apart, so only neighbours can show one wall time twice.
    """
    segments = scene.segments
    for index, segment in enumerate(segments):
        first, last = segment.start, segment.end
        if fold is Fold.FIRST and index > 0:
            first += max(0, segments[index - 1].offset - segment.offset)
        if fold is Fold.SECOND and index + 1 < len(segments):
            last -= max(0, segment.offset - segments[index + 1].offset)
        first, last = max(first, scene.start), min(last, scene.end)
        if first < last:
            yield Segment(first, last, segment.offset)


def _moved(scene: _Scene, triggers: Sequence[OnWallClock], gap: Gap) -> Iterator[int]:
    """Where the wall times that the clock jumped over land: one epoch for each."""
    if gap is Gap.SKIP:
        return
    for before, after in pairwise(scene.segments):
        change, length = after.start, after.offset - before.offset
        # What is moved lands at the change or by the length of the gap after it.
        if length > 0 and scene.start - length < change < scene.end:
            # Read with the offset before the gap, its wall times come right after the change.
            span = Segment(change, change + length, before.offset)
            shifted = matching(scene.timing, triggers, scene.zone, span)
            yield from shifted if gap is Gap.SHIFT else [change] * len(shifted)
