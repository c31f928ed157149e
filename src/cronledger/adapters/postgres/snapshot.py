"""One reading of the ledger for the metrics; its cost does not grow with history."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

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
        # As read last, by column. Of thousands few have changed, and only these are made anew.
        self._ids: list[int] = []
        self._columns: list[list[Any]] = []
        self._facts: list[ScheduleFacts] = []

    def snapshot(self) -> LedgerSnapshot:
        """One consistent reading, all of it at one instant of the database's clock."""
        with self._session.transaction():
            self._session.run("snapshot_begin")
            now = self._session.run("snapshot_limit")[0]["now"]
            queues = self._session.run("snapshot_queues", {"now": now}, binary=True)
            schedules = self._session.run("snapshot_schedules", binary=True)[0]
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
            histograms=tuple(_histogram(row) for row in counters if _is_histogram(row)),
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

    def _facts_of(self, row: DictRow, unfinished: Mapping[int, float]) -> tuple[ScheduleFacts, ...]:
        ids = row["ids"]
        recorded = _latest(row["recorded"], row["recorded_epochs"])
        succeeded = _latest(row["succeeded"], row["succeeded_epochs"])
        columns: list[list[Any]] = [row["names"]]
        columns += (list(map(of.get, ids)) for of in (recorded, unfinished, succeeded))
        if self._columns and ids == self._ids:
            for place in _changed(self._columns, columns):
                self._facts[place] = _facts(*(column[place] for column in columns))
        else:
            self._facts = [_facts(*of_one) for of_one in zip(*columns, strict=True)]
        self._ids, self._columns = ids, columns
        return tuple(self._facts)

    def _counters(self) -> list[DictRow]:
        rows = self._session.run("snapshot_kinds", {"limit": KINDS_MAX + 1})
        for row in rows[:KINDS_MAX]:
            if len(self._kinds) < KINDS_MAX:
                self._kinds[row["kind"]] = None
        by_kind = BY_KIND if len(rows) > KINDS_MAX else []
        asked = {"by_kind": by_kind, "kinds": list(self._kinds), "other": OTHER}
        return self._session.run("snapshot_counters", asked, binary=True)


def _is_histogram(row: DictRow) -> bool:
    metric = CATALOGUE.get(row["metric"])
    return metric is not None and metric.type is MetricType.HISTOGRAM


def _histogram(row: DictRow) -> HistogramReading:
    bounds = CATALOGUE[row["metric"]].bounds
    counts = [0] * (len(bounds) + 1)
    for le, n in zip(row["buckets"], row["counts"], strict=True):
        counts[bisect_left(bounds, le)] += n
    # In millionths, so that the sum comes out the same in any order.
    value = Distribution(bounds, tuple(counts), float(row["total"] / MILLION))
    return HistogramReading(row["metric"], tuple(row["labels"]), value)


def _latest(schedules: Sequence[int], epochs: Sequence[float]) -> dict[int, float]:
    """By schedule; one may be there several times."""
    found = dict(zip(schedules, epochs, strict=True))
    if len(found) < len(schedules):
        for schedule, epoch in zip(schedules, epochs, strict=True):
            found[schedule] = max(found[schedule], epoch)
    return found


def _oldest_unfinished(queues: Iterable[DictRow]) -> dict[int, float]:
    """By schedule; one may be there several times."""
    found: dict[int, float] = {}
    for row in queues:
        for schedule, epoch in zip(row["schedules"], row["due_epochs"], strict=True):
            if found.setdefault(schedule, epoch) > epoch:
                found[schedule] = epoch
    return found


def _changed(before: Sequence[list[Any]], now: Sequence[list[Any]]) -> set[int]:
    """The places in which two sets of columns differ."""
    return {
        place
        for old, new in zip(before, now, strict=True)
        if old != new
        for place, (a, b) in enumerate(zip(old, new, strict=True))
        if a != b
    }


def _facts(
    name: str, recorded: float | None, unfinished: float | None, succeeded: float | None
) -> ScheduleFacts:
    return ScheduleFacts(name, _instant(recorded), _instant(unfinished), _instant(succeeded))


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
