"""Which buckets a span or a number is counted in, and how often each was met."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

# The upper bounds of the buckets. The top is far above what is usual, because a percentile that
# stands at the last bound looks merely slow. The migrations have the same ones; a test compares.
OF_SPANS = (
    *(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800),
    *(3600, 14400, 86400),
)
OF_STARTS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
OF_ATTEMPTS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
OF_PASSES = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


@dataclass(frozen=True, slots=True)
class Distribution:
    """`counts` has a number for each of `bounds`, which ascend, and a last one for what is above.

    A value that equals a bound is in its bucket. Nothing is cumulative.
    """

    bounds: Sequence[float]
    counts: tuple[int, ...]
    total: float = 0.0

    @staticmethod
    def empty(bounds: Sequence[float]) -> Distribution:
        """Nothing was observed yet."""
        return Distribution(bounds, (0,) * (len(bounds) + 1))

    @property
    def count(self) -> int:
        """How many observations there are."""
        return sum(self.counts)

    def observed(self, value: float, count: int = 1, total: float | None = None) -> Distribution:
        """With `count` more in the bucket of `value`; `total` is their sum, if not all are it."""
        place = bisect_left(self.bounds, value)
        counts = list(self.counts)
        counts[place] += count
        added = value * count if total is None else total
        return replace(self, counts=tuple(counts), total=self.total + added)
