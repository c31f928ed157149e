"""Retention in PostgreSQL: whole days are dropped, the rest goes in small batches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from cronledger.adapters.postgres.session import Session
from cronledger.core.retention import Prunable, Pruned

DAYS_AHEAD = 3
BATCH = 5000


class PostgresPrune:
    """Implements `ports.Prune` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def make_days(self) -> int:
        """Tables for today and the days after it; returns how many were made."""
        return self._run("make_days", ahead=DAYS_AHEAD)

    def prunable(self) -> Prunable:
        """What the retention lets go now."""
        asked = self._asked()
        days = asked.pop("days")
        (counted,) = self._session.run("prunable_count", asked)
        return Prunable(tuple(str(first)[:6] for first in days), **counted)

    def prune(self, go_on: Callable[[], bool]) -> Pruned:
        """Let it go, in transactions of a moment each, until done or `go_on` says no."""
        asked = self._asked()
        kept_from: int = asked["kept_from"]
        days = sum(self._day(first, go_on) for first in asked["days"])
        jobs = self._batches("drop_strays", go_on, end=kept_from)
        keys = self._batches("drop_keys", go_on, before=asked["keys_before"])
        keys += self._batches("drop_sets", go_on, before=asked["keys_before"])
        receipts = self._batches("drop_receipts", go_on, before=asked["receipts_before"])
        occurrences = 0
        if asked["occurrences_before"] is not None:
            before = asked["occurrences_before"]
            occurrences = self._batches("drop_occurrences", go_on, before=before)
        self._run("drop_windows")
        return Pruned(days, jobs, keys, receipts, occurrences)

    def _day(self, first: int, go_on: Callable[[], bool]) -> int:
        after: int | None = first - 1
        while after is not None and go_on():
            asked = {"after": after, "end": first + 10**10, "limit": BATCH}
            after = self._session.run("note_final", asked)[0]["last"]
        return self._run("drop_day", first=first) if go_on() else 0

    def _batches(self, name: str, go_on: Callable[[], bool], **given: int | datetime) -> int:
        total = 0
        while go_on() and (n := self._run(name, limit=BATCH, **given)):
            total += n
        return total

    def _run(self, name: str, **given: Any) -> int:
        return int(self._session.run(name, given)[0]["n"])

    def _asked(self) -> dict[str, Any]:
        return dict(self._session.run("prunable")[0])
