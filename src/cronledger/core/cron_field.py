"""One field of a cron text: which values it names, and the column of a mistake in it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_PLAIN = re.compile(
    r"(?:(?P<star>\*)|(?P<first>[0-9]+|[A-Z]+)(?P<to>-(?P<last>[0-9]+|[A-Z]+))?)(?P<by>/(?P<step>[0-9]+))?"
)
_LAST_DAY = re.compile(r"L(?:-([0-9]+))?")
_NEAREST = re.compile(r"(?:L|([0-9]+))W")
_NTH = re.compile(r"([0-9]+|[A-Z]+)#([0-9]+)")
_LAST_WEEKDAY = re.compile(r"([0-9]+|[A-Z]{3})L")


class CronError(ValueError):
    """A cron text that cannot be used. `message`: what is wrong; what to write instead.

    `column` is the 0-based offset of the mistake, at most the length of the text.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@dataclass(frozen=True)
class Kind:
    """A field's name, its bounds (both inclusive) and the names that stand for its numbers."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)

    # Kinds are the module's constants: identity is enough, and cheaper to hash than the names.
    __hash__ = object.__hash__


SECOND = Kind("second", 0, 59)
MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY = Kind("day-of-month", 1, 31)
MONTH = Kind("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)})
WEEKDAY = Kind("day-of-week", 0, 7, {name: number for number, name in enumerate(_WEEKDAYS)})
YEAR = Kind("year", 1970, 2199)


@dataclass(frozen=True, slots=True)
class Field:
    """What a field names; every tuple is sorted. Sunday is 0.

    `starred`: the text begins with `*`; `bare`: it is exactly `*`. `last_days` are days before the
    last of the month; `nearest_weekdays` are days of the month, 0 for the last (`LW`);
    `nth_weekdays` are (weekday, n); `last_weekdays` are the last ones of the month.
    """

    values: tuple[int, ...]
    starred: bool
    bare: bool
    last_days: tuple[int, ...] = ()
    nearest_weekdays: tuple[int, ...] = ()
    nth_weekdays: tuple[tuple[int, int], ...] = ()
    last_weekdays: tuple[int, ...] = ()


def read_word(kind: Kind, text: str) -> Field:
    """What `text`, all of it ASCII, names as a field of `kind`; columns count from its start."""
    return _read(kind, text.upper())


def read_field(kind: Kind, text: str, column: int) -> Field:
    """What `text` names as a field of `kind`; `column` is where it stands in the whole."""
    for index, character in enumerate(text if not text.isascii() else ""):
        if not character.isascii():
            raise CronError(f"{character!r} has no place in a cron; remove it", column + index)
    try:
        return _read(kind, text.upper())
    except CronError as error:
        raise CronError(error.message, column + error.column) from None


# Schedules share a few dozen field texts: thousands of schedules are read for the price of those.
@lru_cache(maxsize=2048)
def _read(kind: Kind, text: str) -> Field:
    values: set[int] = set()
    days = _Days(set(), set(), set(), set())
    for item, column in items(kind, text):
        try:
            if not _read_special(kind, item, days):
                values.update(_read_plain(kind, item))
        except CronError as error:
            raise CronError(error.message, column + error.column) from None
    return Field(
        tuple(sorted(values)),
        text.startswith("*"),
        text == "*",
        tuple(sorted(days.last)),
        tuple(sorted(days.nearest)),
        tuple(sorted(days.nth)),
        tuple(sorted(days.last_weekdays)),
    )


@dataclass(frozen=True, slots=True)
class _Days:
    """The days found so far that no number names."""

    last: set[int]
    nearest: set[int]
    nth: set[tuple[int, int]]
    last_weekdays: set[int]


def items(kind: Kind, text: str) -> Iterator[tuple[str, int]]:
    """The items of a list and where each begins in `text`. Raises CronError for an empty one."""
    column = 0
    for item in text.split(","):
        if not item:
            raise CronError(f"an item of the {kind.name} list is empty; remove a comma", column)
        yield item, column
        column += len(item) + 1


def _read_special(kind: Kind, item: str, days: _Days) -> bool:
    """Whether `item` names days by their place in the month; if so they are added to `days`."""
    if kind is DAY:
        return _read_day(item, days)
    if kind is WEEKDAY:
        return _read_weekday(item, days)
    return False


def _read_day(item: str, days: _Days) -> bool:
    if match := _LAST_DAY.fullmatch(item):
        offset = int(match[1] or 0)
        if offset > 30:
            raise CronError(f"no month has a day L-{offset}; write L-1 to L-30", 2)
        days.last.add(offset)
    elif match := _NEAREST.fullmatch(item):
        days.nearest.add(_number(DAY, match[1], 0) if match[1] else 0)
    else:
        return False
    return True


def _read_weekday(item: str, days: _Days) -> bool:
    if match := _NTH.fullmatch(item):
        weekday, nth = _number(WEEKDAY, match[1], 0) % 7, int(match[2])
        if not 1 <= nth <= 5:
            wanted = f"{match[1]}#1 to {match[1]}#5, or {match[1]}L for the last"
            raise CronError(f"no month has a weekday number {nth}; write {wanted}", match.start(2))
        days.nth.add((weekday, nth))
    elif item not in WEEKDAY.names and (match := _LAST_WEEKDAY.fullmatch(item)):
        days.last_weekdays.add(_number(WEEKDAY, match[1], 0) % 7)
    else:
        return False
    return True


def _read_plain(kind: Kind, item: str) -> Iterator[int]:
    """The values of `*`, a number, a range or a step."""
    match = _PLAIN.fullmatch(item)
    if match is None or match["first"] in {"L", "LW"}:
        raise _unreadable(kind, item)
    step = int(match["step"] or 1)
    if step == 0:
        hint = "write a step of 1 or more, such as */5"
        raise CronError(f"a step of 0 never moves on; {hint}", match.start("step"))
    first, last = _bounds(kind, match)
    if first > last:
        raise CronError(_descending(kind, match, step), match.start("first"))
    values = range(first, last + 1, step)
    # 7 is Sunday as well, so that a range may end on it.
    return (value % 7 for value in values) if kind is WEEKDAY else iter(values)


def _bounds(kind: Kind, match: re.Match[str]) -> tuple[int, int]:
    if match["star"]:
        return kind.low, kind.high
    first = _number(kind, match["first"], match.start("first"))
    if match["to"] is None:
        return first, kind.high if match["by"] else first
    last = _number(kind, match["last"], match.start("last"))
    if match["last"] == "SUN" and first > 0:
        last = 7
    return first, last


def _number(kind: Kind, text: str, column: int) -> int:
    if not text.isdecimal():
        if text in kind.names:
            return kind.names[text]
        raise CronError(_unknown_name(kind, text), column)
    number = int(text)
    if not kind.low <= number <= kind.high:
        wanted = f"write {kind.low} to {kind.high}"
        raise CronError(f"{kind.name} {text} is out of bounds; {wanted}", column)
    return number


def _unknown_name(kind: Kind, text: str) -> str:
    if not kind.names:
        return f"{text!r} is no {kind.name}; write a number from {kind.low} to {kind.high}"
    close = difflib.get_close_matches(text[:9], kind.names, n=1, cutoff=0.4)
    wanted = f"did you mean {close[0]}?" if close else f"write one of {', '.join(kind.names)}"
    return f"{text!r} is no {kind.name}; {wanted}"


def _descending(kind: Kind, match: re.Match[str], step: int) -> str:
    first, last = _bounds(kind, match)
    problem = f"the {kind.name} range {match['first']}-{match['last']} runs backwards"
    if kind is YEAR:
        return f"{problem}; write {last}-{first}"
    high = 6 if kind is WEEKDAY else kind.high
    if kind is WEEKDAY and first == 7:
        wanted = f"0-{last}{match['by'] or ''}"
    elif step == 1:
        wanted = f"{_span(kind, match, first, high)},{_span(kind, match, kind.low, last)}"
    else:
        turn = range(first, last + high - kind.low + 2, step)
        wanted = ",".join(str(v if v <= high else v - high + kind.low - 1) for v in turn)
    return f"{problem}; write {wanted}"


def _span(kind: Kind, match: re.Match[str], first: int, last: int) -> str:
    """`first-last`, or one value, spelled by name where the text does."""
    named = match["first"] in kind.names
    ends = (first,) if first == last else (first, last)
    spell = {number: name for name, number in kind.names.items()} if named else {}
    return "-".join(spell.get(end, str(end)) for end in ends)


def _unreadable(kind: Kind, item: str) -> CronError:
    shown = item if len(item) <= 20 else f"{item[:20]}..."
    for pattern, kinds, message in _MISREADINGS:
        if kind in kinds and (match := pattern.search(item)):
            return CronError(message.format(item=shown, kind=kind.name), match.start())
    example = f"{kind.low}, {kind.low}-{kind.low + 5}, {kind.low},{kind.low + 2} or */2"
    return CronError(f"cannot read {shown!r} as {kind.name}; write for example {example}", 0)


_ALL = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR)
# How a field is written elsewhere, the fields where it is mistaken, and what to write here.
_MISREADINGS: Final[tuple[tuple[re.Pattern[str], tuple[Kind, ...], str], ...]] = (
    (re.compile(r"\?"), _ALL, "? is not a value of the {kind} field; write * for any value"),
    (re.compile(r"^/"), _ALL, "{item!r} does not say where it starts; write *{item}"),
    (re.compile(r"/$"), _ALL, "{item!r} lacks the number of its step; write {item}5, say"),
    (
        re.compile(r"^L(?!W$)"),
        (WEEKDAY,),
        "{item} in {kind} is read in two ways; write SAT for Saturdays, "
        "FRIL for the last Friday of the month",
    ),
    (
        re.compile(r"^(L?W|[0-9]+W|L-)"),
        (WEEKDAY,),
        "{item!r} is no {kind}; write it in day-of-month",
    ),
    (
        re.compile(r"[0-9A-Z](L$|#)"),
        (DAY,),
        "{item!r} is no {kind}; write it in day-of-week",
    ),
    (re.compile(r"[LW]"), (DAY,), "{item!r} is no {kind}; write L, L-3, 15W, LW or numbers"),
    (
        re.compile(r"^(L|L?W|[0-9]+[LW])$|#"),
        (SECOND, MINUTE, HOUR, YEAR),
        "{item!r} is no {kind}; write it in day-of-month or day-of-week",
    ),
)
