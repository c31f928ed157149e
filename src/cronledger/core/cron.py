"""Cron text to field sets, with the column of each mistake; which days match."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import monthrange
from dataclasses import dataclass, fields
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cronledger.core import cron_field
from cronledger.core.cron_field import CronError, Field, Kind
from cronledger.core.cron_text import TEXT_MAX, Layout, place_of, read_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TEXT_MAX", "Cron", "CronError", "Layout", "ever_matches", "matching_days", "parse"]

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# A common and a leap year for each weekday that can begin them: every calendar there is.
_CALENDARS = range(2000, 2028)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron text as read: the field sets decide, the text is for people. Tuples are sorted.

    Sunday is 0; `years` None is every year. `last_days` are days before the month's last;
    `nearest_weekdays` are days of the month, 0 for `LW`; `nth_weekdays` are (weekday, n).
    `..._starred`: the field begins with `*`; `..._bare`: it is exactly `*`.
    """

    text: str
    layout: Layout
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    years: tuple[int, ...] | None
    last_days: tuple[int, ...]
    nearest_weekdays: tuple[int, ...]
    nth_weekdays: tuple[tuple[int, int], ...]
    last_weekdays: tuple[int, ...]
    minute_starred: bool
    hour_starred: bool
    hour_bare: bool
    day_starred: bool
    day_bare: bool
    weekday_starred: bool
    weekday_bare: bool

    def to_spec(self) -> dict[str, Any]:
        """Everything read from the text, as JSON holds it."""
        spec: dict[str, Any] = {}
        for name in _NAMES:
            value = getattr(self, name)
            spec[name] = list(value) if isinstance(value, tuple) else value
        return {
            **spec,
            "layout": self.layout.value,
            "nth_weekdays": [list(pair) for pair in self.nth_weekdays],
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Cron:
        """The inverse of `to_spec`. The text is not read again: a newer reader moves nothing."""
        values: dict[str, Any] = {
            name: tuple(spec[name]) if isinstance(spec[name], list) else spec[name]
            for name in _NAMES
        }
        values["layout"] = Layout(spec["layout"])
        values["nth_weekdays"] = tuple((day, nth) for day, nth in spec["nth_weekdays"])
        return cls(**values)


_NAMES: Final = tuple(found.name for found in fields(Cron))


def parse(text: str, layout: Layout = Layout.FIVE, seed: str = "") -> Cron:
    """The Cron that `text` spells. Raises CronError, also for one that no day can match.

    `seed` is the id of the schedule, from which `H` chooses; without one `H` is refused.
    """
    if len(text) > TEXT_MAX:
        raise CronError(f"longer than {TEXT_MAX} characters; use several schedules", TEXT_MAX)
    return _parse(text, layout, seed if "H" in text.upper() else "")


# Schedules share texts, and those that do then share one Cron as well.
@lru_cache(maxsize=4096)
def _parse(text: str, layout: Layout, seed: str) -> Cron:
    shown, read = read_fields(text, layout, seed)
    cron = _assemble(shown, layout, read)
    # The union is the widest rule: what it never matches, no day rule does.
    if not ever_matches(cron, unites=not (cron.day_bare or cron.weekday_bare)):
        day = place_of(cron_field.DAY, text, layout)
        raise CronError("no such day exists, so it never fires; change the day or the month", day)
    return cron


def _assemble(text: str, layout: Layout, read: Mapping[Kind, Field]) -> Cron:
    second, year = read.get(cron_field.SECOND), read.get(cron_field.YEAR)
    minute, hour = read[cron_field.MINUTE], read[cron_field.HOUR]
    day, weekday = read[cron_field.DAY], read[cron_field.WEEKDAY]
    return Cron(
        text=text,
        layout=layout,
        seconds=(0,) if second is None else second.values,
        minutes=minute.values,
        hours=hour.values,
        days=day.values,
        months=read[cron_field.MONTH].values,
        weekdays=weekday.values,
        years=None if year is None or year.bare else year.values,
        last_days=day.last_days,
        nearest_weekdays=day.nearest_weekdays,
        nth_weekdays=weekday.nth_weekdays,
        last_weekdays=weekday.last_weekdays,
        minute_starred=minute.starred,
        hour_starred=hour.starred,
        hour_bare=hour.bare,
        day_starred=day.starred,
        day_bare=day.bare,
        weekday_starred=weekday.starred,
        weekday_bare=weekday.bare,
    )


def matching_days(cron: Cron, first: int, last: int, *, unites: bool) -> Sequence[int]:
    """The days from `first` to `last`, both included, that match; days since 1970-01-01.

    `unites`: a day matches if either day field does; otherwise both must.
    """
    if len(cron.months) == 12 and cron.years is None and _is_every_day(cron, unites=unites):
        return range(first, last + 1)
    found: list[int] = []
    month = _month_of(first)
    while month.start <= last:
        days = _days_in(cron, month, unites=unites)
        before = month.start - 1
        within = days[bisect_left(days, first - before) : bisect_right(days, last - before)]
        found += [before + day for day in within]
        month = _month_of(month.start + month.length)
    return found


def ever_matches(cron: Cron, *, unites: bool) -> bool:
    """Whether any day, in any year that the cron allows, matches."""
    if cron.years is None and _is_every_day(cron, unites=unites):
        return True
    years = _CALENDARS if cron.years is None else cron.years
    return any(
        _days_in(cron, _month_of(date(year, month, 1).toordinal() - _EPOCH_ORDINAL), unites=unites)
        for year in years
        for month in cron.months
    )


def _is_every_day(cron: Cron, *, unites: bool) -> bool:
    every_day, every_weekday = len(cron.days) == 31, len(cron.weekdays) == 7
    return (every_day or every_weekday) if unites else (every_day and every_weekday)


class _Month(NamedTuple):
    """A month: its first day (since 1970-01-01), its length, and the weekday of its first day."""

    year: int
    number: int
    start: int
    length: int
    first_weekday: int


# The months of one window are those of the next schedule's.
@lru_cache(maxsize=4096)
def _month_of(day: int) -> _Month:
    first = date.fromordinal(day + _EPOCH_ORDINAL).replace(day=1)
    length = monthrange(first.year, first.month)[1]
    start = first.toordinal() - _EPOCH_ORDINAL
    return _Month(first.year, first.month, start, length, first.isoweekday() % 7)


def _days_in(cron: Cron, month: _Month, *, unites: bool) -> tuple[int, ...]:
    """The days of a month (from 1) that match."""
    if month.number not in cron.months:
        return ()
    if cron.years is not None and month.year not in cron.years:
        return ()
    fields_of_day = (cron.days, cron.last_days, cron.nearest_weekdays)
    fields_of_week = (cron.weekdays, cron.nth_weekdays, cron.last_weekdays)
    shape = (month.length, month.first_weekday)
    return _days_of_shape(fields_of_day, fields_of_week, shape, unites=unites)


_DayFields = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
_WeekFields = tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...]]


# There are 28 shapes of a month (length, first weekday): a long window meets each many times.
@lru_cache(maxsize=4096)
def _days_of_shape(
    day: _DayFields, week: _WeekFields, shape: tuple[int, int], *, unites: bool
) -> tuple[int, ...]:
    by_day, by_week = _by_day(day, shape), _by_week(week, shape)
    return tuple(sorted(by_day | by_week if unites else by_day & by_week))


def _by_day(day: _DayFields, shape: tuple[int, int]) -> set[int]:
    days, last_days, nearest = day
    length, first_weekday = shape
    found = {number for number in days if number <= length}
    found |= {length - offset for offset in last_days if offset < length}
    for number in nearest:
        wanted = number or length
        if wanted <= length:
            found.add(_nearest(wanted, length, (first_weekday + wanted - 1) % 7))
    return found


def _nearest(day: int, length: int, weekday: int) -> int:
    """The Monday to Friday closest to `day` that stays inside its month."""
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _by_week(week: _WeekFields, shape: tuple[int, int]) -> set[int]:
    weekdays, nth_weekdays, last_weekdays = week
    length, first_weekday = shape
    found: set[int] = set()
    for number in range(1, length + 1):
        weekday, nth = (first_weekday + number - 1) % 7, (number + 6) // 7
        if (
            weekday in weekdays
            or (weekday, nth) in nth_weekdays
            or (number + 7 > length and weekday in last_weekdays)
        ):
            found.add(number)
    return found
