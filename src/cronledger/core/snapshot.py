"""The facts that the exposition is rendered from, by who knows them: file, ledger, drift, process.

Instants are aware UTC datetimes, spans are timedeltas. None says that there is none or that it
never happened (exported as NaN); a fact that is not known is left out instead, never None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from cronledger.core.distribution import Distribution


class ScheduleState(StrEnum):
    """ENDED: its end has passed; PAUSED: a pause holds now. Ended wins over paused."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"


class QueuedState(StrEnum):
    """Where an unfinished job stands, as the claim would see it at `LedgerSnapshot.taken_at`.

    SCHEDULED: first attempt not yet eligible. ELIGIBLE: a claim would take it this instant, a due
    retry that nobody promoted included. RETRYING: waits out its back-off. DEAD: dead letters that
    nobody has handled.
    """

    SCHEDULED = "scheduled"
    ELIGIBLE = "eligible"
    LEASED = "leased"
    LEASE_EXPIRED = "lease_expired"
    RETRYING = "retrying"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class DeclaredSchedule:
    """What the loaded file says of one schedule, with its neighbours of now.

    `next_occurrence`: the first expected logical time after now; `last_due`: the latest one at or
    before now.
    """

    schedule: str
    queue: str
    kind: str
    timezone: str
    state: ScheduleState
    objective: timedelta
    grace: timedelta
    next_occurrence: datetime | None
    last_due: datetime | None
    severity: str = "warning"
    team: str = ""
    schedule_class: str = "default"
    runbook: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredQueue:
    """What the loaded file says of one queue. `objective`: how long an eligible job may wait."""

    queue: str
    objective: timedelta


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Everything the loaded file says; `queues` holds every queue that a schedule names."""

    digest: str
    schedules: tuple[DeclaredSchedule, ...]
    queues: tuple[DeclaredQueue, ...]


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """One queue as the ledger holds it. A state that `jobs` does not name counts 0.

    `oldest_eligible`: when the oldest job that a claim would take became claimable (run_at or end
    of back-off), whether promoted or not. `oldest_unfinished`: the oldest due time among due jobs
    that are not finished. `oldest_lease`: when the longest running current lease was claimed.
    `oldest_expired_lease`: when the oldest lease ended that is past its end and still held.
    `oldest_dead_letter`: when the oldest unhandled dead letter was made. `budget_left`: the share
    of the retry budget that is left in this minute, if there is one.
    """

    queue: str
    jobs: Mapping[QueuedState, int]
    claims_paused: bool = False
    oldest_eligible: datetime | None = None
    oldest_unfinished: datetime | None = None
    oldest_lease: datetime | None = None
    oldest_expired_lease: datetime | None = None
    oldest_dead_letter: datetime | None = None
    budget_left: float | None = None


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """One schedule as the ledger holds it.

    `last_recorded`: logical time of the latest occurrence that has a record. `oldest_unfinished`:
    logical time of the oldest recorded, due occurrence whose job is not finished; missing keys are
    not in the ledger and come in by `DriftFacts`. `last_success`: when one last completed.
    """

    schedule: str
    last_recorded: datetime | None = None
    oldest_unfinished: datetime | None = None
    last_success: datetime | None = None


@dataclass(frozen=True, slots=True)
class CounterReading:
    """A durable counter of the ledger: its metric, label values in catalogue order, its value."""

    metric: str
    labels: tuple[str, ...]
    value: int


@dataclass(frozen=True, slots=True)
class HistogramReading:
    """A durable histogram of the ledger."""

    metric: str
    labels: tuple[str, ...]
    value: Distribution


@dataclass(frozen=True, slots=True)
class LedgerSnapshot:
    """One reading of the ledger, all of it at `taken_at` (the database's clock).

    `last_reconcile`: when a reconcile last completed, on any replica, by the database's clock.
    A schedule of the file that is not in `schedules` has no record at all.
    """

    taken_at: datetime
    queues: tuple[QueueFacts, ...] = ()
    schedules: tuple[ScheduleFacts, ...] = ()
    counters: tuple[CounterReading, ...] = ()
    last_reconcile: datetime | None = None
    histograms: tuple[HistogramReading, ...] = ()


@dataclass(frozen=True, slots=True)
class DriftFacts:
    """What the last reconcile found for one schedule within its lookback."""

    schedule: str
    missing: int = 0
    oldest_missing: datetime | None = None
    unexpected: int = 0
    orphaned: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What the sidecar that leads keeps for those that follow: the ledger, and the drift that its
    last reconcile found."""

    ledger: LedgerSnapshot
    drift: tuple[DriftFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What this process knows of itself. Counts are since its start.

    `leads` None: nobody has said yet whether this process or another leads. `reconcile_runs`,
    `web_reloads` and `pings` by outcome (ok, error; not_leader), `collectors` by name,
    `database_errors` by SQLSTATE class (its first two characters), `duplicates_suppressed` enqueues
    that the key turned into no row, by class; `durations` of passes by phase. `database_up` None:
    nothing was measured yet. `clock_skew`: this host minus the database.
    """

    version: str
    python: str
    tzdata: str
    revision: str = ""
    reconcile_interval: timedelta = timedelta(minutes=1)
    leads: bool | None = None
    leader_transitions: int = 0
    reconcile_runs: Mapping[str, int] = field(default_factory=dict)
    collectors: Mapping[str, bool] = field(default_factory=dict)
    database_up: bool | None = None
    database_errors: Mapping[str, int] = field(default_factory=dict)
    clock_skew: timedelta | None = None
    snapshot_duration: timedelta | None = None
    duplicates_suppressed: Mapping[str, int] = field(default_factory=dict)
    durations: Mapping[str, Distribution] = field(default_factory=dict)
    web_reloads: Mapping[str, int] = field(default_factory=dict)
    pings: Mapping[str, int] = field(default_factory=dict)
    reload_successful: bool = True
    reloaded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that one exposition is rendered from.

    `ledger` None: no reading has ever succeeded. When the database is away, hand in the last
    reading again: its `taken_at` tells its age. `drift` holds the schedules that a reconcile of
    this process has looked at; the others have no drift series yet. `shown`: the schedules that
    have series of their own (None: all), `omitted`: how many a limit left out.
    """

    process: ProcessFacts
    file: FileFacts
    ledger: LedgerSnapshot | None = None
    drift: tuple[DriftFacts, ...] = ()
    shown: frozenset[str] | None = None
    omitted: int = 0

    def shows(self, schedule: str) -> bool:
        """Whether a schedule has series of its own."""
        return self.shown is None or schedule in self.shown
