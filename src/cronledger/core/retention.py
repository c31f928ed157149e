"""What has ended and is kept no longer, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prunable:
    """What the retention lets go now. `days` as `yymmdd`, in UTC, the oldest first."""

    days: tuple[str, ...]
    jobs: int
    keys: int
    receipts: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went: whole days, and rows that lay in none, keys and receipts one by one."""

    days: int
    jobs: int
    keys: int
    receipts: int
