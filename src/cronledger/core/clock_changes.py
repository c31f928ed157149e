"""What the clock changes of a zone do to the times of day that a timing asks for.

Found by asking the expander itself, once in the zone and once in a zone that never changes: the
second one names the times of day that the clock jumps over or shows twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from cronledger.core.cron import Cron
from cronledger.core.every import Stride
from cronledger.core.expand import expand, instants
from cronledger.core.instants import Segment, Window, Zone, from_epoch
from cronledger.core.rrule import Rrule
from cronledger.core.triggers import singles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cronledger.core.schedule import Timing

# From here on a gap is no summer time: a zone crossed the date line, or mended an error.
LONG_GAP: Final = 3 * 3600


class Fate(StrEnum):
    """What becomes of times of day that a clock change skips or repeats."""

    SKIPPED = "skipped"
    MOVED = "moved"
    MERGED = "merged"  # several of them, or one and another run, become one run
    FIRST = "first"
    SECOND = "second"
    TWICE = "twice"


@dataclass(frozen=True, slots=True)
class Effect:
    """What one clock change does. `change` is its epoch, `before` and `after` the offsets there.

    `walls`: the times of day asked for that the clock skips or repeats, as epochs of the wall
    clock. `runs`: the epochs at which they run after all. Both ascend.
    """

    change: int
    before: int
    after: int
    fate: Fate
    walls: tuple[int, ...]
    runs: tuple[int, ...]

    @property
    def length(self) -> int:
        """Seconds that the clock jumps forward; negative: back."""
        return self.after - self.before


def effects(timing: Timing, zone: Zone, window: Window) -> Iterator[Effect]:
    """What the clock changes in `window` do to the timing, ascending; nothing for most timings.

    A schedule that keeps its pace through a change (every 15 minutes) is not affected by it.
    """
    if not _names_times_of_day(timing):
        return
    start, end = window.epochs()
    for before, after in pairwise(zone.segments(start - 1, end)):
        if start <= after.start < end:
            forward = after.offset > before.offset
            found = (_gap if forward else _fold)(timing, zone, before, after)
            if found is not None:
                yield found


def tell(effect: Effect) -> str:
    """The effect in words, as half of a sentence without a stop."""
    several = len(effect.walls) > 1
    what = f"{_times(effect.walls)} on {_day(effect.walls[0])}"
    old, new = (_clock(effect.change + offset) for offset in (effect.before, effect.after))
    if effect.length > 0:
        verb = "do not exist" if several else "does not exist"
        how = f"the clock jumps from {old} to {new}"
        if effect.length > LONG_GAP:
            how += f" on {_day(effect.change + effect.after)}, {effect.length / 3600:g} hours on"
    else:
        verb = "come twice" if several else "comes twice"
        how = f"the clock goes back from {old} to {new}"
    return f"{what} {verb} ({how}), so {'they' if several else 'it'} {_fate(effect)}"


def _names_times_of_day(timing: Timing) -> bool:
    return any(isinstance(single, Cron | Stride | Rrule) for single in singles(timing.trigger))


def _gap(timing: Timing, zone: Zone, before: Segment, after: Segment) -> Effect | None:
    change, length = after.start, after.offset - before.offset
    span = Window(from_epoch(change), from_epoch(change + length))
    asked = instants(timing, _unchanging(zone, before.offset), span)
    if not asked or _keeps_pace(timing, asked, instants(timing, zone, span)):
        return None
    landed = [o for o in expand(timing, zone, span) if o.moved or o.collapsed > 1]
    fate = Fate.SKIPPED
    if landed:
        fate = Fate.MERGED if any(o.collapsed > 1 for o in landed) else Fate.MOVED
    return _effect(before, after, fate, asked, [o.instant for o in landed])


def _fold(timing: Timing, zone: Zone, before: Segment, after: Segment) -> Effect | None:
    change, back = after.start, before.offset - after.offset
    span = Window(from_epoch(change - back), from_epoch(change + back))
    unchanged = instants(timing, _unchanging(zone, before.offset), span)
    asked = [at for at in unchanged if at < change]
    runs = instants(timing, zone, span) if asked else []
    if not runs or _keeps_pace(timing, unchanged, runs):
        return None
    fate = Fate.TWICE
    if runs[0] >= change:
        fate = Fate.SECOND
    elif runs[-1] < change:
        fate = Fate.FIRST
    return _effect(before, after, fate, asked, runs)


def _effect(
    before: Segment, after: Segment, fate: Fate, asked: list[int], runs: list[int]
) -> Effect:
    walls = tuple(at + before.offset for at in asked)
    return Effect(after.start, before.offset, after.offset, fate, walls, tuple(runs))


def _keeps_pace(timing: Timing, unchanged: list[int], found: list[int]) -> bool:
    """Whether it runs around the clock, and as if the clock had not been changed."""
    trigger = timing.trigger
    return isinstance(trigger, Cron) and len(trigger.hours) == 24 and unchanged == found


def _unchanging(zone: Zone, offset: int) -> Zone:
    return Zone(zone.name, zone.version, (), (offset,))


def _fate(effect: Effect) -> str:
    one = len(effect.walls) == 1
    run = "runs" if one else "run"
    if effect.fate is Fate.SKIPPED:
        return f"{'is' if one else 'are'} left out"
    at = _times(tuple(at + effect.after for at in effect.runs))
    match effect.fate:
        case Fate.FIRST | Fate.SECOND:
            return f"{run} the {effect.fate} time only"
        case Fate.TWICE:
            return f"{run} both times"
        case Fate.MOVED:
            return f"{run} at {at}"
        case Fate.MERGED if len(effect.runs) == 1 and not one:
            return f"{run} once, at {at}"
        case Fate.MERGED:
            return f"{run} at {at}, in one with other runs"


def _times(walls: tuple[int, ...]) -> str:
    clocks = [_clock(wall) for wall in walls]
    if len(clocks) <= 3:
        return " and ".join(filter(None, (", ".join(clocks[:-1]), clocks[-1])))
    return f"{len(clocks)} times of day from {clocks[0]} to {clocks[-1]}"


def _clock(wall: int) -> str:
    time = from_epoch(wall).time()
    return time.isoformat("seconds" if time.second else "minutes")


def _day(wall: int) -> str:
    return from_epoch(wall).date().isoformat()
