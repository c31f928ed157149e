"""What a recurrence rule (RFC 5545) is made of, and which rules are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronledger.core import rrule_text
from cronledger.core.instants import from_epoch
from cronledger.core.rrule_text import Part, RruleError

COUNT_MAX: Final = 100_000
INTERVAL_MAX: Final = 10_000
TIMES_OF_DAY_MAX: Final = 100
_SUBDAILY: Final = {"HOURLY": "H", "MINUTELY": "M", "SECONDLY": "S"}


class Frequency(StrEnum):
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    YEARLY = "YEARLY"


# Parts that mean nothing with another frequency.
_ONLY_WITH: Final = {
    "BYWEEKNO": (Frequency.YEARLY,),
    "BYYEARDAY": (Frequency.YEARLY,),
    "BYMONTHDAY": (Frequency.DAILY, Frequency.MONTHLY, Frequency.YEARLY),
}
_NUMBERS: Final = (
    "BYMONTH",
    "BYMONTHDAY",
    "BYYEARDAY",
    "BYWEEKNO",
    "BYHOUR",
    "BYMINUTE",
    "BYSECOND",
    "BYSETPOS",
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What picks times within a day, week, month or year. An empty tuple picks every one.

    Tuples are sorted; `weekdays` are (weekday from Monday = 0, which one of the month or year, 0
    for each). What the rule leaves to its start is filled in.
    """

    frequency: Frequency
    week_start: int
    months: tuple[int, ...]
    month_days: tuple[int, ...]
    year_days: tuple[int, ...]
    weeks: tuple[int, ...]
    weekdays: tuple[tuple[int, int], ...]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rrule:
    """A recurrence as read: the parts decide, the text is for people.

    `start`, `until_wall` (itself included), `exdate` and `rdate` are wall times, `until` is an
    epoch (itself included). `count` counts times that the parts pick, also one that a gap policy
    drops or `exdate` takes out.
    """

    text: str
    start: int
    parts: Parts
    interval: int = 1
    count: int | None = None
    until: int | None = None
    until_wall: int | None = None
    exdate: tuple[int, ...] = ()
    rdate: tuple[int, ...] = ()


def parse_rrule(text: str, start: int) -> Rrule:
    """The recurrence that `text` spells from the wall time `start` on. Raises RruleError."""
    given = rrule_text.split(text)
    _check_together(given)
    frequency = _frequency(given)
    numbers = {name: rrule_text.numbers(given, name) for name in _NUMBERS}
    most = 5 if frequency is Frequency.MONTHLY or "BYMONTH" in given else 53
    weekdays = rrule_text.weekdays(given, most)
    _check_frequency(given, frequency, weekdays)
    _check_times(given, numbers)
    parts = _filled(frequency, rrule_text.week_start(given), numbers, weekdays, start)
    until, until_wall = rrule_text.until(given)
    return Rrule(
        text,
        start,
        parts,
        rrule_text.number(given, "INTERVAL", INTERVAL_MAX) or 1,
        rrule_text.number(given, "COUNT", COUNT_MAX),
        until,
        until_wall,
    )


def _check_together(given: Mapping[str, Part]) -> None:
    if "COUNT" in given and "UNTIL" in given:
        column = given["UNTIL"].column - len("UNTIL=")
        raise RruleError("COUNT and UNTIL both end the rule; remove one of the two", column)
    if "BYSETPOS" in given and not any(n.startswith("BY") and n != "BYSETPOS" for n in given):
        hint = "write what it chooses from, such as BYDAY"
        raise RruleError(f"BYSETPOS stands alone; {hint}", given["BYSETPOS"].column)


def _frequency(given: Mapping[str, Part]) -> Frequency:
    part = given.get("FREQ")
    words = ", ".join(Frequency)
    if part is None:
        raise RruleError(f"FREQ is missing; write FREQ= and one of {words}", 0)
    if part.value in _SUBDAILY:
        step = f"PT1{_SUBDAILY[part.value]}"
        message = (
            f"FREQ={part.value} counts time that passes; write every: {step} in place of rrule"
        )
        raise RruleError(message, part.column)
    if part.value not in Frequency.__members__:
        raise RruleError(f"unknown FREQ {part.value[:20]!r}; write one of {words}", part.column)
    return Frequency(part.value)


def _check_frequency(
    given: Mapping[str, Part], frequency: Frequency, weekdays: tuple[tuple[int, int], ...]
) -> None:
    for name, allowed in _ONLY_WITH.items():
        if name in given and frequency not in allowed:
            wanted = " or ".join(f"FREQ={each}" for each in allowed)
            message = f"{name} has no meaning with FREQ={frequency}; write {wanted}, or remove it"
            raise RruleError(message, given[name].column - len(name) - 1)
    if any(nth for _, nth in weekdays):
        column = given["BYDAY"].column
        if frequency not in (Frequency.MONTHLY, Frequency.YEARLY):
            hint = "write FREQ=MONTHLY, or the weekday without a number"
            raise RruleError(f"FREQ={frequency} has no numbered weekday; {hint}", column)
        if "BYWEEKNO" in given:
            hint = "write the weekday without a number"
            raise RruleError(f"a week has each weekday once; {hint}", column)


def _check_times(given: Mapping[str, Part], numbers: Mapping[str, tuple[int, ...]]) -> None:
    times = 1
    for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        times *= len(numbers[name]) or 1
        if times > TIMES_OF_DAY_MAX:
            message = f"more than {TIMES_OF_DAY_MAX} times a day; write every: PT1M, or a cron"
            raise RruleError(message, given[name].column)


def _filled(
    frequency: Frequency,
    week_start: int,
    numbers: Mapping[str, tuple[int, ...]],
    weekdays: tuple[tuple[int, int], ...],
    start: int,
) -> Parts:
    """The parts, with what the rule leaves to its start."""
    at = from_epoch(start)
    months, month_days = numbers["BYMONTH"], numbers["BYMONTHDAY"]
    if not (numbers["BYWEEKNO"] or numbers["BYYEARDAY"] or month_days or weekdays):
        if frequency is Frequency.YEARLY:
            months = months or (at.month,)
        if frequency in (Frequency.YEARLY, Frequency.MONTHLY):
            month_days = (at.day,)
        if frequency is Frequency.WEEKLY:
            weekdays = ((at.weekday(), 0),)
    return Parts(
        frequency,
        week_start,
        months,
        month_days,
        numbers["BYYEARDAY"],
        numbers["BYWEEKNO"],
        weekdays,
        numbers["BYHOUR"] or (at.hour,),
        numbers["BYMINUTE"] or (at.minute,),
        numbers["BYSECOND"] or (at.second,),
        numbers["BYSETPOS"],
    )
