"""What the flows need of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from cronledger.core.audit import AuditEntry
from cronledger.core.diff import Stages
from cronledger.core.expected import Owed, Standing
from cronledger.core.instants import Window, Zone
from cronledger.core.packed import Packed
from cronledger.core.plan import LeftOut
from cronledger.core.retention import DayCount, Prunable, Pruned
from cronledger.core.schedule import (
    ANY_RETRIES,
    KEPT,
    JobSpec,
    QueueSpec,
    Retention,
    RetryBudget,
    Schedule,
)
from cronledger.core.snapshot import LedgerSnapshot, Reading
from cronledger.core.status import QueueNow


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
    retention: Retention = KEPT


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

    `run_ats`: when each job may start; () is at its logical time. `headers` go with each job and
    are no part of its payload.
    """

    schedule_id: int
    job: JobSpec
    owed: tuple[Owed, ...]
    run_ats: tuple[datetime, ...] = ()
    headers: Mapping[str, str] | None = None


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

    def packed(self, spans: Sequence[Span]) -> Iterator[Packed]:
        """The recorded keys of each span, in the order of the spans, read while the caller works.

        To be read to its end before the ledger is asked for anything else.
        """

    def left_out(self, spans: Sequence[Span]) -> Mapping[int, list[LeftOut]]:
        """The ranges that touch the windows."""

    def stages(self, spans: Sequence[Span]) -> Mapping[int, Mapping[int, Stages]]:
        """How far each recorded key came, by epoch."""

    def notable(
        self, spans: Sequence[Span], graces: Sequence[timedelta]
    ) -> Mapping[int, Mapping[int, Stages]]:
        """As `stages`, without what completed and was recorded within the grace of its span."""

    def history(self, spans: Sequence[Span]) -> Mapping[int, list[DayCount]]:
        """What the days that touch the windows keep of occurrences that were dropped."""

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

    def enqueue_by_hand(
        self, schedule_id: int, key: str, job: JobSpec, headers: Mapping[str, str] | None = None
    ) -> int:
        """One job of a schedule outside its occurrences; returns the job's id."""

    def reconciled(self) -> None:
        """Note that a reconcile over every schedule has just completed."""


class Prune(Protocol):
    """Retention: what has ended and is kept no longer."""

    def make_days(self) -> int:
        """Make room for the jobs of the days to come; returns how many days got some."""

    def prunable(self) -> Prunable:
        """What would go now."""

    def prune(self, go_on: Callable[[], bool]) -> Pruned:
        """Let it go, until done or `go_on` says no. Safe from many processes at once."""


class Lead(NamedTuple):
    """Whether the caller leads, and then whether somebody reads what it keeps."""

    leads: bool
    followed: bool


class Measured(Protocol):
    """What is measured, at a cost that does not grow with history."""

    def snapshot(self) -> LedgerSnapshot:
        """One consistent reading."""

    def queues_now(self) -> tuple[tuple[QueueNow, ...], int]:
        """Each queue as `status` shows it, and how many workers hold leases."""

    def fold_counters(self) -> None:
        """Add up what was counted since the last fold; safe to run from many processes."""

    def lead(self, holder: str, span: timedelta) -> Lead:
        """Lead for `span` from now on, or follow whoever does."""

    def resign(self, holder: str) -> None:
        """Lead no more, so that nobody waits for the end of the span."""

    def keep(self, holder: str, reading: Reading) -> None:
        """Keep it for those who follow; nothing if another leads now."""

    def kept(self) -> Reading | None:
        """What the leader kept last; None if that is nothing that this version can read."""
