"""Which wall times a timing asks for, after its calendar and its exclusions had their say.

The order: the trigger, then the calendar (which moves days), then the exclusions. What the clock
shows at an instant counts for triggers that name instants.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from cronledger.core.calendars import REST_DAYS_MAX, Roll, rolled
from cronledger.core.cron import Cron, ever_matches, matching_days
from cronledger.core.every import Elapsed, Stride, elapsed_epochs, stride_walls
from cronledger.core.instants import HORIZON, Segment, Zone
from cronledger.core.recurrence import rrule_walls
from cronledger.core.rrule import Rrule
from cronledger.core.schedule import DayRule, Timing
from cronledger.core.triggers import At, OfInstants, OnWallClock, Single

_DAY: Final = 86400
# No wall time is further from the instants that may show it.
_REACH_DAYS: Final = 2


def matching(
    timing: Timing, triggers: Sequence[OnWallClock], zone: Zone, span: Segment
) -> list[int]:
    """The epochs of `span` whose wall time, by the span's offset, is asked for; ascending."""
    if len(triggers) == 1:
        found = _asked(timing, triggers[0], zone, span)
    else:
        every = (_asked(timing, trigger, zone, span) for trigger in triggers)
        found = sorted(set(chain.from_iterable(every)))
    return _without_rules(timing, zone, found, span)


def _asked(timing: Timing, trigger: OnWallClock, zone: Zone, span: Segment) -> list[int]:
    if isinstance(trigger, Cron):
        return _by_cron(timing, trigger, span)
    return _by_wall(timing, trigger, zone, span)


def matching_instants(timing: Timing, trigger: OfInstants, zone: Zone, span: Segment) -> list[int]:
    """The epochs of `span` that the trigger names and the timing does not leave out; ascending."""
    match trigger:
        case Elapsed():
            found = list(elapsed_epochs(trigger, span.start, span.end))
        case At():
            epochs = trigger.epochs
            found = list(epochs[bisect_left(epochs, span.start) : bisect_left(epochs, span.end)])
    if _settles_days(timing):
        days = _Settled(timing)
        found = [at for at in found if days[(at + span.offset) // _DAY] is not None]
    return _without_rules(timing, zone, found, span)


def asked_days(timing: Timing, cron: Cron, first: int, last: int) -> Sequence[int]:
    """The days from `first` to `last`, both included, that a cron asks for; since 1970-01-01."""
    either = unites(cron, timing.day_rule)
    if not _settles_days(timing):
        return matching_days(cron, first, last, unites=either)
    margin = _margin(timing)
    days = matching_days(cron, first - margin, last + margin, unites=either)
    settled = {day for day in map(_Settled(timing).__getitem__, days) if day is not None}
    return sorted(day for day in settled if first <= day <= last)


def first_asked(timing: Timing, trigger: Single, zone: Zone, start: int) -> int:
    """An epoch before which, from `start` on, the trigger asks for nothing; at most HORIZON."""
    match trigger:
        case Elapsed():
            return max(start, trigger.anchor)
        case At():
            following = trigger.epochs[bisect_left(trigger.epochs, start) :]
            return following[0] if following else HORIZON
        case Cron() | Stride() | Rrule():
            day = start // _DAY - _REACH_DAYS
            for length in (62, 3660, HORIZON // _DAY - day):
                first = _first_day(timing, trigger, zone, day, day + max(length, 0))
                if first is not None:
                    return max(start, (first - _REACH_DAYS) * _DAY)
            return HORIZON


def _first_day(
    timing: Timing, trigger: OnWallClock, zone: Zone, first: int, last: int
) -> int | None:
    """The first day, of those from `first` to `last`, that the trigger may ask for."""
    if isinstance(trigger, Cron):
        return next(iter(asked_days(timing, trigger, first, last)), None)
    margin = _margin(timing)
    walls = _walls(trigger, zone, (first - margin) * _DAY, (last + 1 + margin) * _DAY)
    return walls[0] // _DAY - margin if walls else None


def never_asks(timing: Timing, cron: Cron) -> bool:
    """Whether no day ever fits the cron under the timing's day rule."""
    return not ever_matches(cron, unites=unites(cron, timing.day_rule))


def unites(cron: Cron, rule: DayRule) -> bool:
    """Whether a day is matched by either day field, rather than by both together."""
    if rule is DayRule.VIXIE:
        return not (cron.day_starred or cron.weekday_starred)
    return rule is DayRule.OR and not (cron.day_bare or cron.weekday_bare)


def _settles_days(timing: Timing) -> bool:
    return timing.calendar is not None or bool(timing.exclusions.dates)


def _margin(timing: Timing) -> int:
    """How many days a time may be moved by the calendar."""
    return 0 if timing.calendar is None or timing.roll is Roll.NONE else REST_DAYS_MAX


class _Settled(dict[int, int | None]):
    """The day to which the times of a day go, each found once; None if they are left out."""

    def __init__(self, timing: Timing) -> None:
        super().__init__()
        self._calendar, self._roll = timing.calendar, timing.roll
        self._without = frozenset(timing.exclusions.dates)

    def __missing__(self, day: int) -> int | None:
        settled: int | None = day
        if self._calendar is not None:
            settled = rolled(self._calendar, self._roll, day)
        if settled in self._without:
            settled = None
        self[day] = settled
        return settled


def _by_cron(timing: Timing, cron: Cron, span: Segment) -> list[int]:
    start, end, offset = span
    first, last = (start + offset) // _DAY, (end - 1 + offset) // _DAY
    days = asked_days(timing, cron, first, last)
    if not days:
        return []
    minutes = _minutes_of_day(cron.hours, cron.minutes)
    # The first and the last day may be cut; those between are whole.
    found: list[int] = []
    if days[0] == first:
        found = _cut(minutes, cron.seconds, first * _DAY - offset, start, end)
    whole = days[days[0] == first : len(days) - (days[-1] == last)]
    if whole:
        slots = _with_seconds(minutes, cron.seconds)
        midnights = [day * _DAY - offset for day in whole]
        found += [midnight + slot for midnight in midnights for slot in slots]
    if days[-1] == last > first:
        found += _cut(minutes, cron.seconds, last * _DAY - offset, start, end)
    return found


def _cut(
    minutes: Sequence[int], seconds: Sequence[int], midnight: int, start: int, end: int
) -> list[int]:
    """The epochs in `[start, end)` of the day that begins at `midnight`."""
    begin, until = start - midnight, end - midnight
    slots = minutes[bisect_left(minutes, begin - 59) : bisect_left(minutes, until)]
    found = [midnight + slot for slot in _with_seconds(slots, seconds)]
    # The first minute may have begun before the start.
    return found[bisect_left(found, start) : bisect_left(found, end)]


def _with_seconds(minutes: Sequence[int], seconds: Sequence[int]) -> Sequence[int]:
    """The seconds of the day, ascending: those named in each of the minutes."""
    if seconds == (0,):
        return minutes
    return [minute + second for minute in minutes for second in seconds]


# Schedules share few clock times, and a window of years asks for one again at each clock change.
@lru_cache(maxsize=512)
def _minutes_of_day(hours: tuple[int, ...], minutes: tuple[int, ...]) -> tuple[int, ...]:
    """The seconds since midnight at which each minute named begins, ascending."""
    return tuple(hour * 3600 + minute * 60 for hour in hours for minute in minutes)


def _by_wall(timing: Timing, trigger: Stride | Rrule, zone: Zone, span: Segment) -> list[int]:
    margin, offset = _margin(timing) * _DAY, span.offset
    first, last = span.start + offset, span.end + offset
    walls = _walls(trigger, zone, first - margin, last + margin)
    if _settles_days(timing):
        days = _Settled(timing)
        times = ((days[wall // _DAY], wall % _DAY) for wall in walls)
        settled = {day * _DAY + time for day, time in times if day is not None}
        # The start bounds what is owed, also where the calendar moves it.
        walls = sorted(wall for wall in settled if wall >= trigger.start)
    return [wall - offset for wall in walls if first <= wall < last]


def _walls(trigger: Stride | Rrule, zone: Zone, first: int, last: int) -> list[int]:
    match trigger:
        case Stride():
            return stride_walls(trigger, first, last)
        case Rrule():
            return rrule_walls(trigger, zone, first, last)


def _without_rules(timing: Timing, zone: Zone, found: list[int], span: Segment) -> list[int]:
    """What no rule of the exclusions names."""
    offset = span.offset
    for rule in timing.exclusions.rules if found else ():
        match rule:
            case Cron():
                names = _Names(timing, rule, span)
                found = [at for at in found if (at + offset) not in names]
            case Rrule():
                walls = set(rrule_walls(rule, zone, span.start + offset, span.end + offset))
                found = [at for at in found if (at + offset) not in walls]
    return found


class _Names:
    """Which wall times of a span a cron names, asked one by one: it may name very many."""

    def __init__(self, timing: Timing, cron: Cron, span: Segment) -> None:
        first, last = (span.start + span.offset) // _DAY, (span.end + span.offset) // _DAY
        either = unites(cron, timing.day_rule)
        self._days = frozenset(matching_days(cron, first, last, unites=either))
        self._minutes = frozenset(_minutes_of_day(cron.hours, cron.minutes))
        self._seconds = frozenset(cron.seconds)

    def __contains__(self, wall: int) -> bool:
        day, time = divmod(wall, _DAY)
        second = time % 60
        return day in self._days and second in self._seconds and time - second in self._minutes
