"""Times, spans and counts as the page says them: in English, in UTC, without a locale."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from cronledger.core.diff import OccurrenceClass
from cronledger.core.instants import from_epoch, human_span
from cronledger.core.picture import Grain

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def count(n: int) -> str:
    """A number with thin spaces between thousands, which do not break."""
    return f"{n:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def counted(n: int, word: str) -> str:
    """So many of something."""
    return f"{count(n)} {word}{'s' * (n != 1)}"


def classes(counts: Mapping[OccurrenceClass, int]) -> str:
    """Keys by class, gravest first."""
    return ", ".join(f"{count(n)} {word}" for word, n in counts.items() if n)


def day(moment: datetime) -> str:
    return f"{WEEKDAYS[moment.weekday()]} {moment.day} {MONTHS[moment.month - 1]}"


def month(moment: datetime) -> str:
    return f"{MONTHS[moment.month - 1]} {moment.year}"


def date(moment: datetime) -> str:
    return f"{moment.day} {month(moment)}"


def clock(moment: datetime) -> str:
    """Hours and minutes; seconds where there are any."""
    return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")


def minute(moment: datetime) -> str:
    return f"{date(moment)}, {clock(moment)}"


def span(first: int, last: int) -> str:
    """From one logical time (an epoch) to another; the day once if it is the same."""
    start, end = from_epoch(first), from_epoch(last)
    if first == last:
        return minute(start)
    until = clock(end) if start.date() == end.date() else minute(end)
    return f"{minute(start)} to {until}"


def after(moment: datetime, since: datetime) -> str:
    """How long after the logical time something was; `+0s` is at once."""
    sign = "\N{MINUS SIGN}" if moment < since else "+"
    return f"{sign}{human_span(abs(moment - since))}"


def cell(grain: Grain, start: int) -> str:
    """The span that a cell stands for."""
    moment = from_epoch(start)
    match grain:
        case Grain.KEY:
            return f"{day(moment)}, {clock(moment)}"
        case Grain.HOUR:
            return f"{day(moment)}, {moment:%H} h"
        case Grain.DAY:
            return day(moment)
        case Grain.WEEK:
            return f"{date(moment)} to {date(moment + timedelta(days=6))}"
