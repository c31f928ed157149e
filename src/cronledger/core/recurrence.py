"""Which wall times a recurrence rule picks: dateutil fills each month or year, we count them.

dateutil is asked about one month or year at a time. So a window costs the same however far from the
start of the rule it lies, and a rule that never comes true ends with the window, not with the year
9999. Weeks and days are put together here, whole from their first day on (dateutil begins a week at
the rule's start, so that positions in it are counted wrongly: dateutil#1398).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Final

from dateutil import rrule as dateutil

from cronledger.core.instants import HORIZON, Zone, from_epoch
from cronledger.core.rrule import Frequency, Parts, Rrule

_DAY: Final = 86400
# An interval that dateutil cannot step over: it stops after the first month or year.
_ONCE: Final = 100_000
_EVERY_WEEKDAY: Final = tuple(range(7))


def rrule_walls(rule: Rrule, zone: Zone, first: int, last: int) -> list[int]:
    """The wall times in `[first, last)`, ascending and unique."""
    found = [wall for wall in _picked(rule, first, _end_of(rule, zone, last)) if wall >= first]
    if rule.rdate:
        found = sorted({*found, *(wall for wall in rule.rdate if first <= wall < last)})
    if rule.exdate:
        without = set(rule.exdate)
        found = [wall for wall in found if wall not in without]
    return found


def _end_of(rule: Rrule, zone: Zone, last: int) -> int:
    if rule.until_wall is not None:
        last = min(last, rule.until_wall + 1)
    if rule.until is not None:
        last = min(last, rule.until + zone.offset_at(rule.until) + 1)
    return last


def _picked(rule: Rrule, first: int, last: int) -> list[int]:
    """The times in `[first, last)` that the parts pick and `count` allows."""
    if rule.count is None:
        return _between(rule, max(first, rule.start), last)
    counted = _counted(rule.parts, rule.start, rule.interval, rule.count)
    return list(counted[bisect_left(counted, first) : bisect_left(counted, last)])


@lru_cache(maxsize=256)
def _counted(parts: Parts, start: int, interval: int, count: int) -> tuple[int, ...]:
    """The first `count` times, fewer if HORIZON comes first."""
    rule = Rrule("", start, parts, interval)
    found: list[int] = []
    span = 32 * _DAY
    while len(found) < count and start < HORIZON:
        end = min(start + span, HORIZON)
        found += _between(rule, start, end)
        start, span = end, span * 2
    return tuple(found[:count])


def _between(rule: Rrule, first: int, last: int) -> list[int]:
    """The times in `[first, last)` that the parts pick; `first` is not before the start."""
    if first >= last:
        return []
    match rule.parts.frequency:
        case Frequency.YEARLY:
            found = _years(rule, first, last)
        case Frequency.MONTHLY:
            found = _months(rule, first, last)
        case Frequency.WEEKLY:
            found = _weeks(rule, first, last)
        case Frequency.DAILY:
            found = _days(rule, first, last)
    return [wall for wall in found if first <= wall < last]


def _years(rule: Rrule, first: int, last: int) -> Iterator[int]:
    origin, step = from_epoch(rule.start).year, rule.interval
    start = from_epoch(first).year
    for year in range(start + (origin - start) % step, from_epoch(last - 1).year + 1, step):
        yield from _period(rule.parts, year, 0)


def _months(rule: Rrule, first: int, last: int) -> Iterator[int]:
    origin, step = _month_of(rule.start), rule.interval
    start = _month_of(first)
    for month in range(start + (origin - start) % step, _month_of(last - 1) + 1, step):
        year, index = divmod(month, 12)
        yield from _period(rule.parts, year, index + 1)


def _weeks(rule: Rrule, first: int, last: int) -> Iterator[int]:
    # Weeks are counted from the one that holds 1970-01-01, a Thursday.
    shift = (3 - rule.parts.week_start) % 7

    def week_of(wall: int) -> int:
        return (wall // _DAY + shift) // 7

    origin = week_of(rule.start)
    start, end = week_of(first) * 7 - shift, (week_of(last - 1) + 1) * 7 - shift
    candidates = _filtered(rule.parts, start * _DAY, end * _DAY)
    for week, walls in groupby(candidates, week_of):
        if (week - origin) % rule.interval == 0:
            yield from _positioned(rule.parts, walls)


def _days(rule: Rrule, first: int, last: int) -> Iterator[int]:
    origin = rule.start // _DAY
    start, end = first // _DAY * _DAY, ((last - 1) // _DAY + 1) * _DAY
    for day, walls in groupby(_filtered(rule.parts, start, end), lambda wall: wall // _DAY):
        if (day - origin) % rule.interval == 0:
            yield from _positioned(rule.parts, walls)


def _positioned(parts: Parts, walls: Iterable[int]) -> Iterable[int]:
    """Those of a day or week that BYSETPOS chooses, ascending."""
    if not parts.positions:
        return walls
    every = list(walls)
    places = {place - 1 if place > 0 else len(every) + place for place in parts.positions}
    return [every[place] for place in sorted(places) if 0 <= place < len(every)]


def _filtered(parts: Parts, first: int, last: int) -> Iterator[int]:
    """The times in `[first, last)` on days that the parts allow, ascending."""
    for month in range(_month_of(first), _month_of(last - 1) + 1):
        year, index = divmod(month, 12)
        if not parts.months or index + 1 in parts.months:
            yield from (wall for wall in _period(parts, year, index + 1) if first <= wall < last)


def _month_of(wall: int) -> int:
    """The months since the year 0."""
    found = from_epoch(wall)
    return found.year * 12 + found.month - 1


# A tick asks for the same months again and again, and schedules share their parts.
@lru_cache(maxsize=4096)
def _period(parts: Parts, year: int, month: int) -> tuple[int, ...]:
    """What dateutil picks in a month, or (month 0) in a year."""
    grouped = parts.frequency in (Frequency.YEARLY, Frequency.MONTHLY)
    rule = dateutil.rrule(
        dateutil.MONTHLY if month else dateutil.YEARLY,
        dtstart=datetime(year, month or 1, 1),  # noqa: DTZ001  # a wall time has no zone
        interval=_ONCE,
        wkst=parts.week_start,
        # Positions in a week or a day are not positions in a month.
        bysetpos=parts.positions or None if grouped else None,
        bymonth=parts.months or None,
        bymonthday=parts.month_days or None,
        byyearday=parts.year_days or None,
        byweekno=parts.weeks or None,
        byweekday=_weekdays(parts),
        byhour=parts.hours,
        byminute=parts.minutes,
        bysecond=parts.seconds,
    )
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001  # a wall time has no zone
    return tuple((found - epoch).days * _DAY + (found - epoch).seconds for found in rule)


def _weekdays(parts: Parts) -> tuple[dateutil.weekday, ...] | None:
    if parts.weekdays:
        return tuple(dateutil.weekday(day, nth or None) for day, nth in parts.weekdays)
    # A rule without days would take that of its start, here the first of the month.
    grouped = parts.frequency in (Frequency.YEARLY, Frequency.MONTHLY)
    return None if grouped or parts.month_days else tuple(map(dateutil.weekday, _EVERY_WEEKDAY))
