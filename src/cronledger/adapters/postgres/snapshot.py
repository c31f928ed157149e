"""One reading of the ledger for the metrics; its cost does not grow with history."""

from __future__ import annotations

from datetime import timedelta

from psycopg.rows import DictRow

from cronledger.adapters.postgres.reading import from_text, to_text
from cronledger.adapters.postgres.session import Session
from cronledger.core.snapshot import (
    CounterReading,
    LedgerSnapshot,
    QueuedState,
    QueueFacts,
    Reading,
    ScheduleFacts,
)
from cronledger.core.status import QueueNow
from cronledger.ports import Lead

FOLD_LIMIT = 100_000  # deltas added up in one statement


class PostgresMeasured:
    """Implements `ports.Measured` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def snapshot(self) -> LedgerSnapshot:
        """One consistent reading, all of it at one instant of the database's clock."""
        with self._session.transaction():
            self._session.run("snapshot_begin")
            self._session.run("snapshot_limit")
            now = self._session.run("now")[0]["now"]
            queues = self._session.run("snapshot_queues", {"now": now})
            schedules = self._session.run("snapshot_schedules", {"now": now})
            counters = self._session.run("snapshot_counters")
            ledger = self._session.run("snapshot_ledger")[0]
        return LedgerSnapshot(
            taken_at=now,
            queues=tuple(_queue(row) for row in queues),
            schedules=tuple(
                ScheduleFacts(row["name"], row["last_recorded"], row["oldest_unfinished"])
                for row in schedules
            ),
            counters=tuple(
                CounterReading(row["metric"], tuple(row["labels"]), row["n"]) for row in counters
            ),
            last_reconcile=ledger["reconciled_at"],
        )

    def queues_now(self) -> tuple[tuple[QueueNow, ...], int]:
        """Each queue as `status` shows it, and how many workers hold leases."""
        queues = tuple(QueueNow(**row) for row in self._session.run("status_queues"))
        return queues, self._session.run("status_workers")[0]["n"]

    def fold_counters(self) -> None:
        """Add up what was counted since the last fold."""
        self._session.run("fold_counters", {"limit": FOLD_LIMIT})

    def lead(self, holder: str, span: timedelta) -> Lead:
        """Lead for `span` from now on, or follow whoever does."""
        return Lead(**self._session.run("lead", {"holder": holder, "span": span})[0])

    def resign(self, holder: str) -> None:
        """Lead no more."""
        self._session.run("resign", {"holder": holder})

    def keep(self, holder: str, reading: Reading) -> None:
        """Keep it for those who follow; nothing if another leads now."""
        taken_at, body = reading.ledger.taken_at, to_text(reading)
        self._session.run("keep_reading", {"holder": holder, "taken_at": taken_at, "body": body})

    def kept(self) -> Reading | None:
        """What the leader kept last, if this version can read it."""
        rows = self._session.run("kept_reading")
        return from_text(rows[0]["body"]) if rows else None


def _queue(row: DictRow) -> QueueFacts:
    return QueueFacts(
        queue=row["name"],
        jobs={state: row[state.value] for state in QueuedState},
        claims_paused=row["claims_paused"],
        oldest_eligible=row["oldest_eligible"],
        oldest_unfinished=row["oldest_unfinished"],
        oldest_lease=row["oldest_lease"],
        oldest_expired_lease=row["oldest_expired_lease"],
        oldest_dead_letter=row["oldest_dead_letter"],
        budget_left=row["budget_left"],
    )
