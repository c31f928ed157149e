"""The parts of an RRULE text by name, and the column of each mistake in one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cronledger.core.instants import parse_wall

TEXT_MAX: Final = 500
WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# The numbers a part may list, both included; those of `_SIGNED` also count from the end.
_BOUNDS: Final = {
    "BYMONTH": (1, 12),
    "BYMONTHDAY": (1, 31),
    "BYYEARDAY": (1, 366),
    "BYWEEKNO": (1, 53),
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
    "BYSECOND": (0, 59),
    "BYSETPOS": (1, 366),
}
_SIGNED: Final = {"BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS"}
_KNOWN: Final = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", *_BOUNDS, "WKST")
_ELSEWHERE: Final = {
    "DTSTART": "write start: beside rrule",
    "TZID": "write timezone: beside rrule",
    "EXDATE": "write exdate: beside rrule",
    "RDATE": "write rdate: beside rrule",
    "SKIP": "write every: P1M with month_end: in place of rrule",
    "RSCALE": "write a rule of the Gregorian calendar",
    "BYEASTER": "write the days under 'at'",
}
_UNTIL = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?")


class RruleError(ValueError):
    """A rule that cannot be used. `message`: what is wrong; what to write instead.

    `column` is the 0-based offset of the mistake, at most the length of the text.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@dataclass(frozen=True, slots=True)
class Part:
    """One `NAME=value` of the text."""

    value: str
    column: int


def split(text: str) -> dict[str, Part]:
    """The parts by name, in capitals. Raises RruleError for what is no part."""
    if len(text) > TEXT_MAX:
        raise RruleError(f"longer than {TEXT_MAX} characters; use several schedules", TEXT_MAX)
    for column, character in enumerate(text if not text.isascii() else ""):
        if not character.isascii():
            raise RruleError(f"{character!r} has no place in a rule; remove it", column)
    if text.upper().startswith("RRULE:"):
        raise RruleError("the name is rrule: already; remove RRULE:", 0)
    given: dict[str, Part] = {}
    column = 0
    for item in text.split(";"):
        name, equals, value = item.partition("=")
        name = name.upper()
        _check_part(name, given, column)
        if not equals or not value:
            raise RruleError(f"{name} has no value; write {name}=...", column + len(item))
        given[name] = Part(value.upper(), column + len(name) + 1)
        column += len(item) + 1
    return given


def _check_part(name: str, given: Mapping[str, Part], column: int) -> None:
    if name in given:
        raise RruleError(f"{name} stands twice; remove one of the two", column)
    if name in _KNOWN:
        return
    if not name:
        raise RruleError("a part is empty; remove a semicolon, or write NAME=value", column)
    if name in _ELSEWHERE:
        raise RruleError(f"{name} is not read; {_ELSEWHERE[name]}", column)
    close = difflib.get_close_matches(name[:20], _KNOWN, n=1)
    wanted = f"did you mean {close[0]}?" if close else f"write one of {', '.join(_KNOWN)}"
    raise RruleError(f"unknown part {name[:20]!r}; {wanted}", column)


def number(given: Mapping[str, Part], name: str, most: int) -> int | None:
    part = given.get(name)
    if part is None:
        return None
    if re.fullmatch(r"[0-9]{1,12}", part.value) is None or not 1 <= int(part.value) <= most:
        message = f"{name} {part.value[:20]} is out of bounds; write 1 to {most}"
        raise RruleError(message, part.column)
    return int(part.value)


def _items(part: Part) -> Iterator[tuple[str, int]]:
    column = part.column
    for item in part.value.split(","):
        yield item, column
        column += len(item) + 1


def numbers(given: Mapping[str, Part], name: str) -> tuple[int, ...]:
    low, high = _BOUNDS[name]
    signed = name in _SIGNED
    found = set()
    for item, column in _items(given[name]) if name in given else ():
        number = int(item) if re.fullmatch(r"[+-]?[0-9]{1,3}", item) else None
        size = number if number is None or not signed else abs(number)
        if number is None or size is None or not low <= size <= high:
            wanted = f"{low} to {high}" + (f", or -{high} to -{low} from the end" if signed else "")
            raise RruleError(f"{name} {item[:20]!r} is out of bounds; write {wanted}", column)
        found.add(number)
    return tuple(sorted(found))


def weekdays(given: Mapping[str, Part], most: int) -> tuple[tuple[int, int], ...]:
    found = set()
    for item, column in _items(given["BYDAY"]) if "BYDAY" in given else ():
        match = re.fullmatch(r"([+-]?[0-9]{1,2})?([A-Z]{2})", item)
        if match is None or match[2] not in WEEKDAYS:
            wanted = f"write one of {', '.join(WEEKDAYS)}, such as BYDAY=MO,TU"
            raise RruleError(f"{item[:20]!r} is no weekday; {wanted}", column)
        nth = int(match[1]) if match[1] else 0
        if match[1] and not 1 <= abs(nth) <= most:
            message = f"there is no weekday number {nth} in it; write 1 to {most} or -{most} to -1"
            raise RruleError(message, column)
        found.add((WEEKDAYS.index(match[2]), nth))
    return tuple(sorted(_alike(found, most)))


def _alike(weekdays: set[tuple[int, int]], most: int) -> set[tuple[int, int]]:
    """Each weekday spelled by its numbers if some are: a reader of ours takes only one kind."""
    if not any(nth for _, nth in weekdays) or all(nth for _, nth in weekdays):
        return weekdays
    every = {(day, n) for day, nth in weekdays if not nth for n in range(1, most + 1)}
    return every | {(day, nth) for day, nth in weekdays if nth}


def week_start(given: Mapping[str, Part]) -> int:
    part = given.get("WKST")
    if part is None:
        return 0
    if part.value not in WEEKDAYS:
        wanted = f"write one of {', '.join(WEEKDAYS)}"
        raise RruleError(f"{part.value[:20]!r} is no weekday; {wanted}", part.column)
    return WEEKDAYS.index(part.value)


def until(given: Mapping[str, Part]) -> tuple[int | None, int | None]:
    """The last instant, or else the last wall time, that UNTIL allows."""
    part = given.get("UNTIL")
    if part is None:
        return None, None
    match = _UNTIL.fullmatch(part.value)
    if match is None:
        message = f"cannot read UNTIL={part.value[:20]}; write UNTIL=20261231T235959Z, say"
        raise RruleError(message, part.column)
    if match[4] is None:
        hint = f"write UNTIL={part.value}T235959 for all of that day"
        raise RruleError(f"UNTIL={part.value} does not say when on that day; {hint}", part.column)
    year, month, day, hour, minute, second, utc = match.groups()
    try:
        wall = parse_wall(f"{year}-{month}-{day}T{hour}:{minute}:{second}")
    except ValueError:
        message = f"UNTIL={part.value} is no time; write UNTIL=20261231T235959Z, say"
        raise RruleError(message, part.column) from None
    return (wall, None) if utc else (None, wall)
