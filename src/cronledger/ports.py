"""What the flows and the worker need from the world: small protocols, implemented by adapters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from cronledger.core.audit import Audit, AuditEntry, By
from cronledger.core.diff import Stages
from cronledger.core.events import Event
from cronledger.core.expected import Owed, Standing
from cronledger.core.instants import Window, Zone
from cronledger.core.lifecycle import Failure, Job, Lease, QueueStanding, Settlement
from cronledger.core.plan import LeftOut
from cronledger.core.receipts import Begun
from cronledger.core.schedule import ANY_RETRIES, JobSpec, QueueSpec, RetryBudget, Schedule
from cronledger.core.snapshot import LedgerSnapshot

Observe = Callable[[Event], None]


class Zones(Protocol):
    """Pinned zone data."""

    @property
    def version(self) -> str:
        """Such as `2026f`."""

    def load(self, name: str) -> Zone:
        """The zone of that name. Raises ConfigError, with a close name, if there is none."""


@dataclass(frozen=True, slots=True)
class Noting:
    """What is noted beside the schedules. `at` is the moment; None is the database's clock."""

    queues: tuple[QueueSpec, ...]
    zones: Zones
    at: datetime | None = None
    replace: bool = False
    retry_budget: RetryBudget = ANY_RETRIES


@dataclass(frozen=True, slots=True)
class Noted:
    """What noting a file changed: names of schedules whose version opened, or that ended.

    `late`: those whose version is in force only from `now` on, though the file dates it earlier.
    """

    now: datetime
    opened: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Occurrences of one schedule to write, with the job that each becomes.

    `run_ats`: when each job may start; () is at its logical time.
    """

    schedule_id: int
    job: JobSpec
    owed: tuple[Owed, ...]
    run_ats: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a tick decided about one schedule. `came_due`: expected keys not decided on before."""

    schedule_id: int
    left_out: tuple[LeftOut, ...]
    came_due: int


class Versions(Protocol):
    """The schedules that the ledger knows, and their effective-dated versions."""

    def now(self) -> datetime:
        """The database's clock, which is the only one that decides."""

    def note(self, schedules: Iterable[Schedule], noting: Noting) -> Noted:
        """Open a version for each timing that changed, end the schedules that are gone.

        A timing has changed as well if newer zone data moves its clock from now on.

        Raises RefusedError when `at` lies before what it would replace, and for a file that has
        none of many schedules in force unless `replace` says that they are to end.
        """

    def backdate(self, schedule: Schedule, since: datetime, zones: Zones) -> None:
        """Make the versions from `since` on those of the file, whatever they were."""

    def standings(self, names: Collection[str] | None = None) -> tuple[Standing, ...]:
        """Every schedule ever loaded (or those named), by name."""


Span = tuple[int, Window]  # a schedule's id and the window asked about


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How many jobs of a schedule wait, for whatever, and how many are leased."""

    waiting: int
    leased: int


class Recorded(Protocol):
    """What the ledger holds. Answers are by schedule id; epochs ascend."""

    def recorded(self, spans: Sequence[Span]) -> Mapping[int, list[int]]:
        """Epochs of the recorded keys."""

    def left_out(self, spans: Sequence[Span]) -> Mapping[int, list[LeftOut]]:
        """The ranges that touch the windows."""

    def stages(self, spans: Sequence[Span]) -> Mapping[int, Mapping[int, Stages]]:
        """How far each recorded key came, by epoch."""

    def unfinished(self, ids: Sequence[int]) -> Mapping[int, Unfinished]:
        """What of these schedules is not finished; only those that have such a job."""

    def orphaned(self, spans: Sequence[Span]) -> Mapping[int, list[int]]:
        """Epochs of the recorded keys whose job is gone."""


class Enqueuer(Protocol):
    """Writes occurrences and jobs."""

    def enqueue_once(
        self, batch: Sequence[Enqueue], via: str, as_of: datetime | None = None
    ) -> Mapping[int, list[int]]:
        """Write what is not there yet, in one transaction; returns the epochs written, by id."""

    def deciding(self, ids: Sequence[int]) -> AbstractContextManager[Mapping[int, datetime]]:
        """A transaction in which only we decide on these schedules; gives each `decided_to`."""

    def decided(self, decisions: Sequence[Decision], now: datetime) -> None:
        """Store what was left out, and that everything due by `now` has been decided on."""


class Audited(Protocol):
    """Manual changes and their record, together or not at all."""

    def changing(self) -> AbstractContextManager[None]:
        """A transaction."""

    def audit(self, entry: AuditEntry) -> None:
        """Record a manual change, in the transaction that makes it."""


class Ledger(Versions, Recorded, Enqueuer, Audited, Protocol):
    """All of them, on one connection."""

    def cancel_unfinished(self, schedule_id: int) -> None:
        """Cancel what the schedule has not finished, because a later occurrence is due."""

    def enqueue_by_hand(self, schedule_id: int, key: str, job: JobSpec) -> int:
        """One job of a schedule outside its occurrences; returns the job's id."""

    def reconciled(self) -> None:
        """Note that a reconcile over every schedule has just completed."""


class Measured(Protocol):
    """What is measured, at a cost that does not grow with history."""

    def snapshot(self) -> LedgerSnapshot:
        """One consistent reading."""

    def fold_counters(self) -> None:
        """Add up what was counted since the last fold; safe to run from many processes."""


class LeasedQueue(Protocol):
    """The lease protocol. Every settlement is fenced by the lease's token."""

    def claim(
        self, queues: Sequence[str], kinds: Sequence[str], limit: int, worker: str
    ) -> list[Lease]:
        """Lease up to `limit` eligible jobs, queues in the order given; of all if none is."""

    def extend(self, leases: Sequence[Lease]) -> Mapping[int, bool]:
        """Extend; the tokens still ours, and whether somebody asked that attempt to end.

        The others are lost.
        """

    def complete(self, leases: Sequence[Lease]) -> frozenset[int]:
        """Complete; returns the tokens that were settled. The others are stale."""

    def fail(self, lease: Lease, failure: Failure) -> Settlement:
        """Settle as failed: RETRYING, DEAD, CANCELLED or STALE."""

    def release(self, leases: Sequence[Lease]) -> frozenset[int]:
        """Hand back, uncharged; returns the tokens that were ours."""

    def rescue(self, limit: int) -> int:
        """Take back up to `limit` expired leases; returns how many."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which jobs are meant; None is any."""

    queue: str | None = None
    state: str | None = None
    kind: str | None = None
    error_class: str | None = None


class Effects(Protocol):
    """Receipts of effects, fenced by the lease. Safe from any thread."""

    def begin(self, lease: Lease, name: str, fingerprint: str, window: timedelta | None) -> Begun:
        """Write down that an effect is about to be tried; says whether it is to be."""

    def commit(self, lease: Lease, name: str, result: Any) -> bool:
        """Write down that it has happened; False if the lease is not ours any more."""

    def completing(self, lease: Lease) -> AbstractContextManager[tuple[Any, Callable[[], bool]]]:
        """A connection in a transaction, and what completes the job in it and commits both."""


class Outputs(Protocol):
    """What commands wrote."""

    def keep_output(self, job_id: int, token: int, exit_status: int, text: str) -> bool:
        """Keep the output of an attempt; False if the lease is not ours any more."""


class Jobs(Protocol):
    """Jobs as people look at them."""

    def jobs(self, chosen: Chosen, limit: int) -> list[Job]:
        """The newest first."""

    def job(self, job_id: int) -> Job | None:
        """One job by its id."""

    def queues(self) -> list[QueueStanding]:
        """Every queue, by name."""

    def audits(
        self, subject: str | None, action: str | None, actor: str | None, limit: int
    ) -> list[Audit]:
        """Manual changes, the newest first."""


class Controls(Protocol):
    """What operators do by hand, each with its audit row in one transaction.

    Each answers with the state in which the job then is. Raises RefusedError where the state of
    the job does not allow it, ConfigError where there is no such job or queue.
    """

    def cancel(self, job_id: int, by: By) -> str:
        """End a waiting job now; ask the worker of a leased one (`cancel_requested`)."""

    def retry_now(self, job_id: int, by: By) -> str:
        """Let a scheduled or retrying job be claimed now."""

    def take_back(self, job_id: int, by: By) -> str:
        """Take the lease from its worker; the attempt is not charged."""

    def prolong(self, job_id: int, span: timedelta, by: By) -> datetime:
        """Let a lease last for `span` from now; returns its end."""

    def replay(self, job_id: int, run_at: datetime | None, by: By) -> str:
        """Bring a dead job to life, under the same key; from `run_at` on, or now."""

    def discard(self, job_id: int, by: By) -> str:
        """Put a dead letter away."""

    def pause(self, queue: str, until: datetime | None, by: By) -> None:
        """Stop the claims of a queue."""

    def resume(self, queue: str, by: By) -> bool:
        """Let them go on; False if it was not paused."""


class Clock(Protocol):
    """This process's own clock, for waiting and measuring; it decides nothing about schedules."""

    def now(self) -> datetime:
        """Wall clock, aware UTC."""

    def monotonic(self) -> timedelta:
        """Time since some moment of the past; never steps back."""

    def draw(self) -> float:
        """A random number, uniform in [0, 1), for jitter."""
