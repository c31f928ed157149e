"""Which days are business days, and where the time of another day goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

# So long without a business day that rolling would carry a time into another month.
REST_DAYS_MAX: Final = 31


class Roll(StrEnum):
    """What becomes of a time whose day is no business day."""

    NONE = "none"  # it is left out
    PRECEDING = "preceding"
    FOLLOWING = "following"


@dataclass(frozen=True, slots=True)
class Calendar:
    """Business days: all but those of `weekend` and `exclude`; those of `include` in any case.

    `weekend` counts from Sunday as 0; the others are days since 1970-01-01. All are sorted.
    """

    weekend: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    include: tuple[int, ...] = ()


def is_business_day(calendar: Calendar, day: int) -> bool:
    """Whether work is done on a day (days since 1970-01-01)."""
    return _index(calendar).is_business_day(day)


def rolled(calendar: Calendar, roll: Roll, day: int) -> int | None:
    """The day to which the times of `day` belong; None if they are left out.

    Raises LookupError if there is none within `REST_DAYS_MAX` days.
    """
    index = _index(calendar)
    if index.is_business_day(day):
        return day
    if roll is Roll.NONE:
        return None
    step = -1 if roll is Roll.PRECEDING else 1
    for distance in range(1, REST_DAYS_MAX + 1):
        if index.is_business_day(day + step * distance):
            return day + step * distance
    raise LookupError(f"no business day within {REST_DAYS_MAX} days of day {day}")


def first_long_rest(calendar: Calendar) -> int | None:
    """The first day of the first span of more than `REST_DAYS_MAX` days without business.

    None if there is none. At most six days are weekend.
    """
    index = _index(calendar)
    # Every such span holds a day excluded, with at most a weekend before it.
    for edge in calendar.exclude:
        start = edge
        while start > edge - 7 and not index.is_business_day(start - 1):
            start -= 1
        if not any(index.is_business_day(start + n) for n in range(REST_DAYS_MAX + 1)):
            return start
    return None


@dataclass(frozen=True, slots=True)
class _Index:
    """A calendar laid out for questions about single days."""

    weekend: frozenset[int]
    exclude: frozenset[int]
    include: frozenset[int]

    def is_business_day(self, day: int) -> bool:
        # 1970-01-01 was a Thursday.
        rests = (day + 4) % 7 in self.weekend or day in self.exclude
        return not rests or day in self.include


@lru_cache(maxsize=256)
def _index(calendar: Calendar) -> _Index:
    return _Index(
        frozenset(calendar.weekend), frozenset(calendar.exclude), frozenset(calendar.include)
    )
