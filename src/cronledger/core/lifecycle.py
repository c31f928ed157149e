"""What a job is, and the words for where it stands and how an attempt was settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    SCHEDULED = "scheduled"
    ELIGIBLE = "eligible"
    LEASED = "leased"
    RETRYING = "retrying"
    COMPLETED = "completed"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Settlement(StrEnum):
    """How the queue answered a settlement. `STALE`: the lease is not ours any more; `RELEASED`:
    handed back, and not charged."""

    COMPLETED = "completed"
    RETRYING = "retrying"
    DEAD = "dead"
    CANCELLED = "cancelled"
    RELEASED = "released"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the view `cronledger.jobs`. `claimed_at` is the first claim; `error` the last one's
    message, kept for retrying and dead jobs."""

    id: int
    key: str
    queue: str
    kind: str
    state: JobState
    attempt: int
    max_attempts: int
    run_at: datetime
    eligible_at: datetime | None
    created_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    error_class: str | None
    error: str | None
    lease_expires_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    discarded_at: datetime | None = None
    schema_version: int = 1
    tenant: str | None = None
    exit_status: int | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class QueueStanding:
    """A queue as operators see it. `waiting`: scheduled and retrying; `dead`: letters not put away.

    `paused_until` None while it is paused is until somebody resumes it.
    """

    name: str
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    paused_until: datetime | None
    eligible: int
    leased: int
    waiting: int
    dead: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to one attempt of one job, until `expires_at` unless extended.

    `token` is the fence: every settlement names it. `attempt` counts from 1. Times are the
    database's; `span` is what each extension grants, `timeout` bounds the attempt. `alone`: run
    nothing beside it. `rank` is its place in the queue, naive UTC.
    """

    job_id: int
    token: int
    key: str
    kind: str
    queue: str
    payload: Mapping[str, Any]
    logical_time: datetime | None
    attempt: int
    max_attempts: int
    eligible_at: datetime
    claimed_at: datetime
    expires_at: datetime
    span: timedelta
    timeout: timedelta
    schema_version: int = 1
    tenant: str | None = None
    headers: Mapping[str, Any] | None = None
    alone: bool = False
    rank: datetime | None = None

    @property
    def known_as(self) -> str:
        """What a worker must say that it knows to be given the job."""
        return known_as(self.kind, self.schema_version)


def known_as(kind: str, schema_version: int) -> str:
    """A kind with the version of its payload: `report`, and from the second on `report@2`."""
    return kind if schema_version == 1 else f"{kind}@{schema_version}"


def parse_known(text: str) -> tuple[str, int]:
    """The kind and the version that `known_as` wrote."""
    kind, mark, version = text.rpartition("@")
    return (kind, int(version)) if mark and version.isdecimal() else (text, 1)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long after its claim the handler of an attempt began, and how long it ran; by the clock
    of its worker, None is unknown."""

    started: timedelta | None = None
    ran: timedelta | None = None


UNTIMED = Timing()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, and what may follow.

    `error_class` is short and bounded (an exception's name); `retry_after` replaces the back-off.
    `raised_at` is the place in the handler's code, such as `jobs.py:42 in report`, if known.
    """

    error_class: str
    message: str
    retryable: bool = True
    retry_after: timedelta | None = None
    raised_at: str | None = None
