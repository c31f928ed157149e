"""What is wrong around the ledger, as a person reads it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

SKEW_MAX = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Ailment:
    """One thing that is wrong: what it is called, of what, and what to do."""

    finding: str
    subject: str
    detail: str


def of_skew(skew: timedelta) -> list[Ailment]:
    """What a clock that differs from the database's by `skew` (ahead is positive) amounts to."""
    if abs(skew) <= SKEW_MAX:
        return []
    way = "ahead of" if skew > timedelta(0) else "behind"
    seconds = abs(skew).total_seconds()
    detail = f"{seconds:.1f} s {way} the database's, which decides; set one of them right"
    return [Ailment("clock_skew", "this host", detail)]
