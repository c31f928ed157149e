"""One reading of the ledger for the metrics; its cost does not grow with history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from psycopg.rows import DictRow

from cronledger.adapters.postgres.reading import from_text, to_text
from cronledger.adapters.postgres.session import Session
from cronledger.core.catalogue import CATALOGUE, KINDS_MAX, OTHER, MetricType
from cronledger.core.distribution import Distribution
from cronledger.core.snapshot import (
    CounterReading,
    HistogramReading,
    LedgerSnapshot,
    QueuedState,
    QueueFacts,
    Reading,
    ScheduleFacts,
)
from cronledger.core.status import QueueNow
from cronledger.ports import Lead

MILLION = 1_000_000
FOLD_LIMIT = 100_000  # deltas added up in one statement
# Whose second label is the kind.
BY_KIND = [name for name, metric in CATALOGUE.items() if metric.labels[1:2] == ("kind",)]


class PostgresMeasured:
    """Implements `ports.Measured` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Those that have series of their own; once there, they stay.
        self._kinds: dict[str, None] = {}

    def snapshot(self) -> LedgerSnapshot:
        """One consistent reading, all of it at one instant of the database's clock."""
        with self._session.transaction():
            self._session.run("snapshot_begin")
            self._session.run("snapshot_limit")
            now = self._session.run("now")[0]["now"]
            queues = self._session.run("snapshot_queues", {"now": now})
            schedules = self._session.run("snapshot_schedules", {"now": now})
            counters = self._counters()
            ledger = self._session.run("snapshot_ledger")[0]
        return LedgerSnapshot(
            taken_at=now,
            queues=tuple(_queue(row) for row in queues),
            schedules=tuple(
                ScheduleFacts(
                    row["name"],
                    row["last_recorded"],
                    row["oldest_unfinished"],
                    row["last_success"],
                )
                for row in schedules
            ),
            counters=tuple(
                CounterReading(row["metric"], tuple(row["labels"]), row["n"])
                for row in counters
                if not _is_histogram(row)
            ),
            histograms=_histograms([row for row in counters if _is_histogram(row)]),
            last_reconcile=ledger["reconciled_at"],
        )

    def queues_now(self) -> tuple[tuple[QueueNow, ...], int]:
        """Each queue as `status` shows it, and how many workers hold leases."""
        queues = tuple(QueueNow(**row) for row in self._session.run("status_queues"))
        return queues, self._session.run("status_workers")[0]["n"]

    def fold_counters(self) -> None:
        """Add up what was counted since the last fold."""
        self._session.run("fold_counters", {"limit": FOLD_LIMIT})
        self._session.run("fold_successes", {"limit": FOLD_LIMIT})

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

    def _counters(self) -> list[DictRow]:
        for row in self._session.run("snapshot_kinds", {"limit": KINDS_MAX}):
            if len(self._kinds) < KINDS_MAX:
                self._kinds[row["kind"]] = None
        asked = {"by_kind": BY_KIND, "kinds": list(self._kinds), "other": OTHER}
        return self._session.run("snapshot_counters", asked)


def _is_histogram(row: DictRow) -> bool:
    metric = CATALOGUE.get(row["metric"])
    return metric is not None and metric.type is MetricType.HISTOGRAM


def _histograms(rows: Sequence[DictRow]) -> tuple[HistogramReading, ...]:
    found: dict[tuple[str, tuple[str, ...]], Distribution] = {}
    for row in rows:
        series = row["metric"], tuple(row["labels"])
        so_far = found.get(series) or Distribution.empty(CATALOGUE[row["metric"]].bounds)
        # In millionths, so that the sum comes out the same in any order.
        total = float(row["total"] / MILLION)
        found[series] = so_far.observed(row["le"], row["n"], total)
    return tuple(HistogramReading(*series, value) for series, value in found.items())


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
