"""Status: one reading of all that a verdict is made of. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cronledger.core.instants import Window
from cronledger.core.schedule import Schedule, known_as
from cronledger.core.snapshot import LedgerSnapshot, ScheduleState
from cronledger.core.status import Reading, ScheduleNow
from cronledger.flows.measure import drift_facts, state_of
from cronledger.flows.reconcile import Drift, reconcile
from cronledger.ports import Ledger, Measured, Zones


def read(
    schedules: Mapping[str, Schedule],
    ledger: Ledger,
    measured: Measured,
    zones: Zones,
    lookback: timedelta,
) -> Reading:
    """A reading as of now; `schedules` are those of the file, none if it is not at hand."""
    snapshot = measured.snapshot()
    now = snapshot.taken_at
    drifts = list(reconcile(schedules, ledger, zones, Window(now - lookback, now), details=False))
    queues, workers = measured.queues_now()
    decided = [drift.standing.decided_to for drift in drifts]
    return Reading(
        snapshot,
        drift_facts(drifts),
        tuple(_schedules(schedules, drifts, snapshot, now)),
        queues,
        max(decided, default=None),
        workers,
    )


def _schedules(
    schedules: Mapping[str, Schedule],
    drifts: Sequence[Drift],
    snapshot: LedgerSnapshot,
    now: datetime,
) -> Iterator[ScheduleNow]:
    """Those of the file, and those of the ledger that may still owe something."""
    for schedule in schedules.values():
        paused = state_of(schedule, now) is ScheduleState.PAUSED
        yield ScheduleNow(schedule.id, schedule.objective, paused)
    unfinished = {s.schedule for s in snapshot.schedules if s.oldest_unfinished is not None}
    ours = known_as(schedules)
    strange = {
        drift.schedule: None
        for drift in drifts
        if drift.schedule not in ours
        and (
            drift.findings
            or drift.schedule in unfinished
            or drift.standing.versions[-1].effective_to is None
        )
    }
    for name in strange:
        yield ScheduleNow(name)
