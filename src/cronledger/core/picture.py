"""What a schedule's calendar shows: which span a cell stands for, and what became of its keys.

A short window with few keys has a cell for each key; else a cell is an hour, a day or a week, so
that neither many keys nor a long window makes a picture that nobody can read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from cronledger.core.diff import OccurrenceClass
from cronledger.core.instants import Window

HOURS_UP_TO = timedelta(days=14)
DAYS_UP_TO = timedelta(days=400)
# Up to so many keys for each day of a short window, each has its own cell.
KEYS_A_DAY = 24

_DAY = 86400
# The epoch was a Thursday, and weeks begin on Monday.
_FIRST_MONDAY = 4 * _DAY


class Grain(StrEnum):
    """What a cell stands for."""

    KEY = "key"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"

    @property
    def seconds(self) -> int:
        """How long a cell is; a key has no length."""
        return {Grain.KEY: 1, Grain.HOUR: 3600, Grain.DAY: _DAY, Grain.WEEK: 7 * _DAY}[self]


@dataclass(frozen=True, slots=True)
class Cell:
    """The keys due within one grain from `start` (an epoch, UTC) on, counted by class."""

    start: int
    counts: Mapping[OccurrenceClass, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def worst(self) -> OccurrenceClass:
        """The gravest class in it."""
        return worst_of(self.counts)


@dataclass(frozen=True, slots=True)
class Picture:
    """The cells of one schedule that hold a key, ascending."""

    grain: Grain
    cells: tuple[Cell, ...]


def grain_of(window: Window) -> Grain:
    """The span of a cell, where not each key has its own."""
    length = window.end - window.start
    if length <= HOURS_UP_TO:
        return Grain.HOUR
    return Grain.DAY if length <= DAYS_UP_TO else Grain.WEEK


def worst_of(counts: Mapping[OccurrenceClass, int]) -> OccurrenceClass:
    """The gravest class that counts anything; there must be one."""
    return next(word for word in OccurrenceClass if counts.get(word))


class Canvas:
    """Takes the keys of one schedule one by one; holds cells only, however many keys there are."""

    def __init__(self, window: Window) -> None:
        self._grain = grain_of(window)
        self._cells: dict[int, Counter[OccurrenceClass]] = {}
        first, end = (instant // _DAY for instant in window.epochs())
        self._keys_max = KEYS_A_DAY * (end - first + 1)
        self._keys: list[Cell] | None = [] if self._grain is Grain.HOUR else None

    def add(self, epoch: int, word: OccurrenceClass) -> None:
        """One key of that class."""
        start = start_of(self._grain, epoch)
        self._cells.setdefault(start, Counter())[word] += 1
        if self._keys is not None:
            self._keys.append(Cell(epoch, {word: 1}))
            if len(self._keys) > self._keys_max:
                self._keys = None

    def picture(self) -> Picture:
        """What was taken so far."""
        if self._keys is not None:
            return Picture(Grain.KEY, tuple(sorted(self._keys, key=lambda cell: cell.start)))
        cells = (Cell(start, dict(counts)) for start, counts in sorted(self._cells.items()))
        return Picture(self._grain, tuple(cells))


def start_of(grain: Grain, epoch: int) -> int:
    """Where the cell begins that an instant lies in; weeks begin on Monday, all of it in UTC."""
    offset = _FIRST_MONDAY if grain is Grain.WEEK else 0
    return epoch - (epoch - offset) % grain.seconds
