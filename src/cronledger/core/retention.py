"""What has ended and is kept no longer, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Prunable:
    """What the retention lets go now. `days` as `yymmdd`, in UTC, the oldest first."""

    days: tuple[str, ...]
    jobs: int
    keys: int
    receipts: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went: whole days, and rows that lay in none, keys and receipts one by one.

    Of occurrences their number of each day is kept.
    """

    days: int
    jobs: int
    keys: int
    receipts: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many occurrences of a schedule and a UTC day were dropped that had come to one end:
    `completed`, `cancelled`, `dead`, or `external`, which another scheduler had recorded."""

    day: date
    state: str
    count: int
