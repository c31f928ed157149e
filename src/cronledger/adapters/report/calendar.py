"""A picture as the page lays it out: days below each other, months as calendars, years of weeks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from cronledger.adapters.report import said
from cronledger.adapters.report.looks import LOOKS
from cronledger.core.instants import Window, from_epoch
from cronledger.core.picture import Cell, Grain, Picture, start_of

_DAY = 86400
# A schedule with so few keys a day has them in one line, not a line for each day.
STRIP_KEYS_A_DAY = 3
# At least so much of a cell is of its gravest class, if it is drawn as wholly so.
WHOLE = 0.5


@dataclass(frozen=True, slots=True)
class Box:
    """One cell as it is drawn. `look` is its style, `title` what it stands for, in words."""

    symbol: str
    look: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Cells under one heading. `half`: "am" or "pm" if the other half of the day is blank."""

    heading: str
    boxes: tuple[Box, ...]
    half: str = ""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The blocks of one schedule, how they are laid out, and all of it in a sentence."""

    shape: str
    blocks: tuple[Block, ...]
    sentence: str


NOTHING_DUE = Box("·", "no")
OUTSIDE = Box("", "out")


def calendar(picture: Picture, window: Window) -> Calendar:
    """The picture laid out over the window."""
    cells = {cell.start: cell for cell in picture.cells}
    match picture.grain:
        case Grain.KEY:
            shape, blocks = _keys(picture.cells, window)
        case Grain.HOUR:
            shape, blocks = "hours", _hours(Grain.HOUR, cells, window)
        case Grain.DAY:
            shape, blocks = "months", _months(cells, window)
        case Grain.WEEK:
            shape, blocks = "years", _years(cells, window)
    return Calendar(shape, tuple(blocks), _sentence(picture))


def _keys(cells: Sequence[Cell], window: Window) -> tuple[str, Iterator[Block]]:
    """In a line if they are few, under their hours if each has one of its own, else by the day."""
    days = [list(keys) for _, keys in groupby(cells, lambda cell: cell.start // _DAY)]
    if not days:
        return "strip", iter(())
    if all(len(keys) <= STRIP_KEYS_A_DAY for keys in days):
        heading = said.span(cells[0].start, cells[-1].start)
        return "strip", iter([Block(heading, tuple(_box(Grain.KEY, cell) for cell in cells))])
    hours = {start_of(Grain.HOUR, cell.start): cell for cell in cells}
    if len(hours) == len(cells):
        return "hours", _hours(Grain.KEY, hours, window)
    return "days", (
        Block(said.day(from_epoch(keys[0].start)), tuple(_box(Grain.KEY, cell) for cell in keys))
        for keys in days
    )


def _hours(grain: Grain, cells: dict[int, Cell], window: Window) -> Iterator[Block]:
    """A line of 24 for each day; a cell stands for its hour or for the one key in it."""
    for start in _starts(Grain.DAY, window):
        hours = range(start, start + _DAY, Grain.HOUR.seconds)
        boxes = tuple(_slot(grain, cells.get(hour), hour, window) for hour in hours)
        blank = [all(box is OUTSIDE for box in half) for half in (boxes[:12], boxes[12:])]
        half = "pm" if blank[0] else "am" if blank[1] else ""
        yield Block(said.day(from_epoch(start)), boxes, half)


def _months(cells: dict[int, Cell], window: Window) -> Iterator[Block]:
    months = groupby(_starts(Grain.DAY, _drawn(cells, window)), lambda at: _month(from_epoch(at)))
    for first, found in months:
        days = list(found)
        # The days of the month before the first one drawn, and the place of the first weekday.
        blank = from_epoch(days[0]).day - 1 + first.weekday()
        boxes = (_slot(Grain.DAY, cells.get(day), day, window) for day in days)
        yield Block(said.month(first), (*[OUTSIDE] * blank, *boxes))


def _years(cells: dict[int, Cell], window: Window) -> Iterator[Block]:
    weeks = _starts(Grain.WEEK, _drawn(cells, window))
    for year, starts in groupby(weeks, lambda at: from_epoch(at).year):
        boxes = (_slot(Grain.WEEK, cells.get(week), week, window) for week in starts)
        yield Block(str(year), tuple(boxes))


def _drawn(cells: dict[int, Cell], window: Window) -> Window:
    """The part of the window from the first key on: before it there may be years of nothing."""
    first = from_epoch(min(cells)) if cells else window.end
    return window.intersect(min(first, window.end), None)


def _starts(grain: Grain, window: Window) -> Iterator[int]:
    first, end = window.epochs()
    return iter(range(start_of(grain, first), end, grain.seconds))


def _month(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0)


def _slot(grain: Grain, cell: Cell | None, start: int, window: Window) -> Box:
    """A place in the grid; one that lies outside the window is left blank."""
    if cell is not None:
        return _box(grain, cell)
    first, end = window.epochs()
    length = Grain.HOUR.seconds if grain is Grain.KEY else grain.seconds
    return NOTHING_DUE if first < start + length and start < end else OUTSIDE


def _box(grain: Grain, cell: Cell) -> Box:
    look = LOOKS[cell.worst]
    part = "" if cell.counts[cell.worst] >= WHOLE * cell.total else " pt"
    counts = {word: cell.counts[word] for word in LOOKS if cell.counts.get(word)}
    what = str(cell.worst) if grain is Grain.KEY else said.classes(counts)
    return Box(look.symbol, look.name + part, f"{said.cell(grain, cell.start)}: {what}")


def _sentence(picture: Picture) -> str:
    """What a reader hears who does not see it."""
    if not picture.cells:
        return "No key was due."
    worst = Counter(cell.worst for cell in picture.cells)
    total = len(picture.cells)
    if picture.grain is Grain.KEY:
        what = said.counted(total, "key")
    else:
        what = f"{said.counted(total, picture.grain)} with keys, each by its gravest one"
    return f"{what}: {said.classes({word: worst[word] for word in LOOKS})}"
