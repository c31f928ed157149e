"""One set of facts that makes every family of the catalogue say something."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronledger.core.snapshot import (
    CounterReading,
    DeclaredQueue,
    DeclaredSchedule,
    DriftFacts,
    Facts,
    FileFacts,
    LedgerSnapshot,
    ProcessFacts,
    QueuedState,
    QueueFacts,
    ScheduleFacts,
    ScheduleState,
)

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def declared(
    schedule: str, state: ScheduleState = ScheduleState.ACTIVE, kind: str = "report.build"
) -> DeclaredSchedule:
    """An hourly schedule of queue `billing`."""
    return DeclaredSchedule(
        schedule=schedule,
        queue="billing",
        kind=kind,
        timezone="Europe/Berlin",
        state=state,
        objective=timedelta(hours=1),
        grace=timedelta(minutes=5),
        next_occurrence=NOON + timedelta(hours=1),
        last_due=NOON,
    )


FILE = FileFacts(
    digest="ab" * 32,
    schedules=(
        declared("report"),
        declared("cleanup", ScheduleState.PAUSED, "cleanup"),
        declared("old", ScheduleState.ENDED),
    ),
    queues=(DeclaredQueue("billing", timedelta(minutes=10)),),
)

LEDGER = LedgerSnapshot(
    taken_at=NOON + MINUTE,
    queues=(
        QueueFacts(
            queue="billing",
            jobs={QueuedState.ELIGIBLE: 3, QueuedState.DEAD: 1},
            oldest_eligible=NOON - 7 * MINUTE,
        ),
    ),
    schedules=(ScheduleFacts("report", NOON, NOON - 60 * MINUTE),),
    counters=(
        CounterReading("cronledger_occurrences_recorded_total", ("default", "tick"), 41),
        CounterReading("cronledger_attempts_total", ("billing", "report.build", "retry"), 7),
    ),
    last_reconcile=NOON,
)

PROCESS = ProcessFacts(
    version="0.1.0",
    python="3.11.9",
    tzdata="2026.6",
    leads=True,
    collectors={"ledger": True, "drift": False},
    database_up=True,
    database_errors={"42": 1},
    clock_skew=timedelta(milliseconds=-20),
    snapshot_duration=timedelta(milliseconds=12),
    reloaded_at=NOON,
)

DRIFT = (
    DriftFacts("report", missing=2, oldest_missing=NOON - 180 * MINUTE, unexpected=1, orphaned=4),
)

FULL = Facts(process=PROCESS, file=FILE, ledger=LEDGER, drift=DRIFT)
