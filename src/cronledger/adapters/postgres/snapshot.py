"""One reading of the ledger for the metrics; its cost does not grow with history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, NamedTuple, TypeAlias

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


_Row: TypeAlias = tuple[int, str, float | None, float | None]


class _Read(NamedTuple):
    """A schedule as it is read, in epochs."""

    schedule: str
    last_recorded: float | None
    oldest_unfinished: float | None
    last_success: float | None


class PostgresMeasured:
    """Implements `ports.Measured` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Those that have series of their own; once there, they stay.
        self._kinds: dict[str, None] = {}
        # By id: of thousands few have changed since the last reading, so the others are kept.
        self._schedules: dict[int, tuple[_Read, ScheduleFacts]] = {}

    def snapshot(self) -> LedgerSnapshot:
        """One consistent reading, all of it at one instant of the database's clock."""
        with self._session.transaction():
            self._session.run("snapshot_begin")
            now = self._session.run("snapshot_limit")[0]["now"]
            queues = self._session.run("snapshot_queues", {"now": now})
            schedules = self._session.build("snapshot_schedules", _row, {})
            counters = self._counters()
            ledger = self._session.run("snapshot_ledger")[0]
        return LedgerSnapshot(
            taken_at=now,
            queues=tuple(_queue(row) for row in queues),
            schedules=self._facts_of(schedules, _oldest_unfinished(queues)),
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
        self._session.run("fold_newest", {"limit": FOLD_LIMIT})

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

    def _facts_of(
        self, rows: Iterable[_Row], unfinished: Mapping[int, float]
    ) -> tuple[ScheduleFacts, ...]:
        known, now_known = self._schedules, {}
        for id_, name, last_recorded, last_success in rows:
            read = _Read(name, last_recorded, unfinished.get(id_), last_success)
            before = known.get(id_)
            now_known[id_] = (
                before if before is not None and before[0] == read else (read, _facts(read))
            )
        self._schedules = now_known
        return tuple(facts for _, facts in now_known.values())

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


def _row(*columns: Any) -> _Row:
    return columns  # type: ignore[return-value]  # as the statement selects them


def _oldest_unfinished(queues: Iterable[DictRow]) -> dict[int, float]:
    """By schedule; one may have jobs in several queues, and of several kinds of waiting."""
    found: dict[int, float] = {}
    for row in queues:
        for schedule, epoch in zip(row["schedules"], row["due_epochs"], strict=True):
            if epoch < found.get(schedule, inf):
                found[schedule] = epoch
    return found


def _facts(read: _Read) -> ScheduleFacts:
    name, *epochs = read
    return ScheduleFacts(name, *map(_instant, epochs))


def _instant(epoch: float | None) -> datetime | None:
    return None if epoch is None else datetime.fromtimestamp(epoch, UTC)


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
