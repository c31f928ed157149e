"""A schedule: what is owed and when, the policies around it, and its effective-dated versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from cronledger.core.calendars import Calendar, Roll
from cronledger.core.instants import Window, Zone
from cronledger.core.keys import OccurrenceKey
from cronledger.core.routing import ROUTED, Routing
from cronledger.core.triggers import NOTHING_EXCLUDED, Exclusions, Trigger


class Gap(StrEnum):
    """What becomes of a wall time that the clock jumps over."""

    SKIP = "skip"
    SHIFT = "shift"
    NEXT = "next"


class Fold(StrEnum):
    """Which instant a wall time means that the clock shows twice."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class Wildcard(StrEnum):
    """Which schedules run on every real slot, whatever gap and fold say."""

    ELAPSED = "elapsed"  # minute or hour field starts with *
    STAR = "star"  # hour field is exactly *
    SAME = "same"  # none


class DayRule(StrEnum):
    """How day-of-month and day-of-week combine."""

    VIXIE = "vixie"  # AND if either field starts with *, else OR
    OR = "or"  # OR unless one of them is exactly *
    AND = "and"


@dataclass(frozen=True, slots=True)
class Dst:
    """The clock-change policy of a schedule. Presets: `DST_PRESETS`."""

    gap: Gap
    fold: Fold
    wildcard: Wildcard


DST_PRESETS: Mapping[str, Dst] = {
    "cron": Dst(Gap.NEXT, Fold.FIRST, Wildcard.ELAPSED),
    "rfc5545": Dst(Gap.SHIFT, Fold.FIRST, Wildcard.SAME),
    "literal": Dst(Gap.SKIP, Fold.BOTH, Wildcard.SAME),
    "ocps": Dst(Gap.SKIP, Fold.FIRST, Wildcard.ELAPSED),
    "dagster": Dst(Gap.NEXT, Fold.SECOND, Wildcard.ELAPSED),
    "airflow": Dst(Gap.SHIFT, Fold.SECOND, Wildcard.STAR),
    "croniter": Dst(Gap.NEXT, Fold.BOTH, Wildcard.STAR),
}


@dataclass(frozen=True, slots=True)
class Timing:
    """Everything that decides which instants are owed; a change here opens a version.

    `start` (inclusive) and `end` (exclusive) bound the logical times; None is unbounded. A trigger
    that counts from a start holds it itself. `roll` says what `calendar` does with other days.
    """

    trigger: Trigger
    timezone: str = "UTC"
    dst: Dst = DST_PRESETS["cron"]
    day_rule: DayRule = DayRule.VIXIE
    start: datetime | None = None
    end: datetime | None = None
    calendar: Calendar | None = None
    roll: Roll = Roll.NONE
    exclusions: Exclusions = NOTHING_EXCLUDED


class CatchupPolicy(StrEnum):
    NONE = "none"
    LATEST = "latest"
    EARLIEST = "earliest"
    ALL = "all"


class Order(StrEnum):
    OLDEST = "oldest"
    NEWEST = "newest"


class Overlap(StrEnum):
    """What becomes of a due key while an earlier occurrence is unfinished.

    ALLOW enqueues it; SKIP suppresses it. The others enqueue it to start when the earlier one has
    ended: BUFFER_ALL each, BUFFER_ONE while none waits already (else it is suppressed), and
    CANCEL_OTHER after asking the earlier ones to end.
    """

    ALLOW = "allow"
    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"


@dataclass(frozen=True, slots=True)
class Catchup:
    """What a tick does about keys that are later than the deadline.

    `window` is how far back a tick looks; `maximum` bounds what one pass enqueues by catch-up;
    `pace` is the span between the starts of two keys that were caught up in one pass.
    """

    policy: CatchupPolicy = CatchupPolicy.LATEST
    window: timedelta = timedelta(days=1)
    maximum: int = 100
    order: Order = Order.OLDEST
    pace: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Pause:
    """A half-open span in which nothing is owed; `end` None is until further notice."""

    start: datetime
    end: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The job that an occurrence becomes. None leaves the choice to the queue.

    `priority`: smaller runs first, a step of it worth a minute of waiting. `payload` is any JSON
    object, of the form that `schema_version` names. Of one `ordering_key` at most one job is leased
    at a time, the oldest first. The `tenant`s of a queue take turns.
    """

    kind: str
    queue: str = "default"
    payload: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    max_attempts: int | None = None
    timeout: timedelta | None = None
    ordering_key: str | None = None
    schema_version: int = 1
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Dated:
    """A timing and the instant from which on it is in force."""

    effective_from: datetime
    timing: Timing


@dataclass(frozen=True, slots=True)
class Schedule:
    """A named rule of what is owed and when, as the file declares it.

    `timing` is the newest; `versions` are all of them with their dates, ascending, if the file
    dates them, else none.

    `grace`: how long a due key may lack a record before it is missing. `objective`: how long after
    its logical time an occurrence may stay unfinished. `deadline`: lateness up to which a tick
    enqueues a key as on time; later than that `catchup` decides. `splay` delays the start of each
    job by a stable share of it, never the key. `managed_by` names another scheduler: its keys are
    compared, never enqueued. `aliases` are earlier ids, whose history is carried on. `routing` is
    for alerts only.
    """

    id: str
    timing: Timing
    job: JobSpec
    grace: timedelta = timedelta(minutes=5)
    objective: timedelta = timedelta(hours=1)
    deadline: timedelta = timedelta(seconds=30)
    catchup: Catchup = Catchup()
    pauses: tuple[Pause, ...] = ()
    skip: frozenset[OccurrenceKey] = frozenset()
    overlap: Overlap = Overlap.ALLOW
    splay: timedelta = timedelta(0)
    managed_by: str | None = None
    aliases: tuple[str, ...] = ()
    versions: tuple[Dated, ...] = ()
    routing: Routing = ROUTED


def job_of(schedule: Schedule) -> JobSpec:
    """The job of its occurrences; those of which one waits for another share an ordering key."""
    if schedule.overlap in (Overlap.ALLOW, Overlap.SKIP) or schedule.job.ordering_key is not None:
        return schedule.job
    return replace(schedule.job, ordering_key=f"schedule:{schedule.id}")


def known_as(schedules: Mapping[str, Schedule]) -> dict[str, Schedule]:
    """The schedules by their ids and by those they had before.

    What fell due under an earlier id keeps its key; the policies and the job are those of now.
    """
    earlier = {alias: s for s in schedules.values() for alias in s.aliases}
    return earlier | dict(schedules)


class BudgetMode(StrEnum):
    """What becomes of a retry that no budget is left for: it waits (DEFER), or the job is DEAD."""

    DEFER = "defer"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A queue's settings. `objective`: how long an eligible job may wait. `retry_budget`: how many
    retries a minute it may have, `tenant_limit`: how many leased jobs each tenant; None is any
    number."""

    name: str
    objective: timedelta = timedelta(hours=1)
    lease: timedelta = timedelta(seconds=60)
    max_attempts: int = 8
    timeout: timedelta = timedelta(hours=1)
    backoff_base: timedelta = timedelta(seconds=2)
    backoff_cap: timedelta = timedelta(hours=1)
    retry_budget: int | None = None
    budget_mode: BudgetMode = BudgetMode.DEFER
    tenant_limit: int | None = None


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """How many retries a minute all queues together may have; None is any number."""

    per_minute: int | None = None
    mode: BudgetMode = BudgetMode.DEFER


ANY_RETRIES = RetryBudget()


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what has ended is kept: jobs, the keys of jobs that no schedule owes, receipts,
    and occurrences (None: for ever)."""

    jobs: timedelta = timedelta(days=14)
    keys: timedelta = timedelta(days=35)
    receipts: timedelta = timedelta(days=90)
    occurrences: timedelta | None = None


KEPT = Retention()


@dataclass(frozen=True, slots=True)
class ScheduleFile:
    """A loaded file. `path` as given, `digest` the SHA-256 of its bytes in hex.

    `retry_budget` is that of all queues together, `retention` that of all that has ended.
    """

    path: str
    digest: str
    schedules: Mapping[str, Schedule]
    queues: Mapping[str, QueueSpec]
    retry_budget: RetryBudget = ANY_RETRIES
    retention: Retention = KEPT


@dataclass(frozen=True, slots=True)
class Version:
    """A timing in force during `[effective_from, effective_to)`; `effective_to` None is open.

    `zone`: the rules of its clock as they were known when it opened, if they are not those of now.
    """

    number: int
    effective_from: datetime
    effective_to: datetime | None
    timing: Timing
    zone: Zone | None = None

    def is_in_force(self, at: datetime) -> bool:
        """Whether this version decides what is owed at an instant."""
        return self.effective_from <= at and (self.effective_to is None or at < self.effective_to)

    def share_of(self, window: Window) -> Window:
        """The part of `window` in which this version is in force."""
        return window.intersect(self.effective_from, self.effective_to)
