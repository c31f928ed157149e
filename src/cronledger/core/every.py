"""Triggers that repeat by a fixed step: elapsed seconds, or days and months of the calendar."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from cronledger.core.instants import (
    format_instant,
    format_wall,
    from_epoch,
    parse_duration,
)

_DAY: Final = 86400
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
SECONDS_MAX: Final = 400 * 366 * _DAY
DAYS_MAX: Final = 100_000
MONTHS_MAX: Final = 2_400
_CALENDAR = re.compile(r"P(?=\d)(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?")
_SHORT = re.compile(r"\d{1,9}[smhdw]")


class MonthEnd(StrEnum):
    """What becomes of a day that its month does not have (RFC 7529, SKIP)."""

    OMIT = "omit"
    BACKWARD = "backward"  # the last day of the month
    FORWARD = "forward"  # the first day of the next


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Every `seconds` that pass, from `anchor` (an epoch, itself included) on."""

    seconds: int
    anchor: int = 0

    @property
    def text(self) -> str:
        """As people write it."""
        start = f" from {format_instant(from_epoch(self.anchor))}" if self.anchor else ""
        return f"every {_elapsed(self.seconds)}{start}"


@dataclass(frozen=True, slots=True)
class Stride:
    """Every `days` or every `months` (the other is 0) of the calendar from `start` on.

    `start` is a wall time. The k-th time is always start + k steps, never the one before + 1.
    """

    start: int
    days: int = 0
    months: int = 0
    month_end: MonthEnd = MonthEnd.OMIT

    @property
    def text(self) -> str:
        """As people write it."""
        step = f"P{self.months}M" if self.months else f"P{self.days}D"
        return f"every {step} from {format_wall(self.start)}"


@dataclass(frozen=True, slots=True)
class Step:
    """What `every` says: one of the three is not 0."""

    seconds: int = 0
    days: int = 0
    months: int = 0


def parse_step(text: str) -> Step:
    """The step that `text` spells. Raises ValueError with what to write instead."""
    text = text.strip()
    found = _read(text)
    if not (found.seconds or found.days or found.months):
        raise ValueError(f"{text!r} never moves on; write PT5M or P1D, say")
    if found.seconds > SECONDS_MAX or found.days > DAYS_MAX or found.months > MONTHS_MAX:
        raise ValueError(f"{text!r} never comes twice; write a shorter one, or 'at' with the time")
    return found


def _read(text: str) -> Step:
    match = _CALENDAR.fullmatch(text)
    if match is not None:
        years, months, weeks, days = (int(part or 0) for part in match.groups())
        if (years or months) and (weeks or days):
            hint = "write one of the two, or both under 'any'"
            raise ValueError(f"{text!r} mixes months, whose length varies, with days; {hint}")
        return Step(days=weeks * 7 + days, months=years * 12 + months)
    if _SHORT.fullmatch(text) and text[-1] in "dw":
        calendar_step, hours = f"P{text[:-1]}{text[-1].upper()}", int(text[:-1]) * 24
        hours *= 7 if text[-1] == "w" else 1
        message = f"{text!r} is read in two ways; write {calendar_step} for days of the calendar"
        raise ValueError(f"{message}, PT{hours}H for hours that pass")
    if text.startswith("PT") or _SHORT.fullmatch(text):
        return Step(seconds=round(parse_duration(text).total_seconds()))
    if re.fullmatch(r"P\d+[DWMY].*T.+", text):
        message = f"{text!r} mixes days of the calendar with hours that pass"
        raise ValueError(f"{message}; write one of the two, such as P1D or PT36H")
    raise ValueError(f"expected a step such as PT5M, P1D, P2W or P1M, got {text[:60]!r}")


def _elapsed(seconds: int) -> str:
    """`PT...` without days, which would say days of the calendar."""
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    parts = ((hour, "H"), (minute, "M"), (second, "S"))
    return "PT" + "".join(f"{number}{unit}" for number, unit in parts if number)


def elapsed_epochs(trigger: Elapsed, start: int, end: int) -> range:
    """The epochs in `[start, end)`."""
    first = max(start, trigger.anchor)
    first += (trigger.anchor - first) % trigger.seconds
    return range(first, end, trigger.seconds)


def stride_walls(trigger: Stride, first: int, last: int) -> list[int]:
    """The wall times in `[first, last)`, ascending."""
    first = max(first, trigger.start)
    if trigger.days:
        step = trigger.days * _DAY
        return list(range(first + (trigger.start - first) % step, last, step))
    start = from_epoch(trigger.start)
    time, origin = trigger.start % _DAY, start.year * 12 + start.month - 1
    # A month earlier, because FORWARD carries a time into the next one.
    lowest = _month_of(first) - 1 - origin
    step = max(0, -(-lowest // trigger.months))
    found = []
    for month in range(origin + step * trigger.months, _month_of(last) + 1, trigger.months):
        day = _day_in(month, start.day, trigger.month_end)
        if day is not None and first <= day * _DAY + time < last:
            found.append(day * _DAY + time)
    return found


def _month_of(wall: int) -> int:
    """The months since the year 0."""
    found = from_epoch(wall)
    return found.year * 12 + found.month - 1


def _day_in(month: int, number: int, month_end: MonthEnd) -> int | None:
    """The day (since 1970-01-01) of that number in a month; None if it is omitted."""
    year, index = divmod(month, 12)
    length = calendar.monthrange(year, index + 1)[1]
    over = number > length
    if over and month_end is MonthEnd.OMIT:
        return None
    number = number if not over else length + (month_end is MonthEnd.FORWARD)
    return date(year, index + 1, 1).toordinal() - _EPOCH_ORDINAL + number - 1
