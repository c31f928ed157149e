"""Expected against recorded: the class of every key, by set difference.

A key is missing when it is expected, past grace, and neither recorded nor left out, and when no
record of that time was ever dropped. Its class says the worst that is true of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cronledger.core.instants import from_epoch
from cronledger.core.plan import LeftOut, Reason

# Recorded by another scheduler, whose record says that it ran; it has no job of ours.
EXTERNAL = "external"


class OccurrenceClass(StrEnum):
    """What became of an expected or recorded key. `DEAD` and `CANCELLED` are ends of its job."""

    MISSING = "missing"
    UNEXPECTED = "unexpected"
    ORPHANED = "orphaned"
    DEAD = "dead"
    CANCELLED = "cancelled"
    LATE = "late"
    OMITTED = "omitted"
    SUPPRESSED = "suppressed"
    PRUNED = "pruned"
    RUNNING = "running"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Stages:
    """The four stages of a recorded occurrence, never merged; None is not reached.

    `state` is the job's, None when no job is left under its id.
    """

    recorded_at: datetime
    enqueued_at: datetime | None
    claimed_at: datetime | None
    committed_at: datetime | None
    job_id: int | None
    state: str | None
    via: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One key and its class. `age`: how long ago its logical time was."""

    epoch: int
    occurrence_class: OccurrenceClass
    age: timedelta
    reason: Reason | None = None
    stages: Stages | None = None


def reasons_of(epochs: Sequence[int], left_out: Sequence[LeftOut]) -> Mapping[int, Reason]:
    """Why each of `epochs` (ascending) was left out, for those that lie in a range."""
    found: dict[int, Reason] = {}
    for span in left_out:
        for epoch in epochs[bisect_left(epochs, span.start) : bisect_left(epochs, span.end)]:
            found.setdefault(epoch, span.reason)
    return found


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a schedule's keys are judged by: how long one may lack a record, and before when a
    record may have been dropped (None: none was)."""

    grace: timedelta
    pruned_to: datetime | None = None


def classify_absent(
    epochs: Sequence[int], reasons: Mapping[int, Reason], bounds: Bounds, now: datetime
) -> Iterator[Finding]:
    """Findings for expected keys without a record; a key within its grace is none yet."""
    for epoch in epochs:
        logical_time = from_epoch(epoch)
        age = now - logical_time
        reason = reasons.get(epoch)
        if reason is not None:
            left = OccurrenceClass.SUPPRESSED if reason.suppresses else OccurrenceClass.OMITTED
            yield Finding(epoch, left, age, reason)
        elif bounds.pruned_to is not None and logical_time < bounds.pruned_to:
            yield Finding(epoch, OccurrenceClass.PRUNED, age)
        elif age > bounds.grace:
            yield Finding(epoch, OccurrenceClass.MISSING, age)


def classify_recorded(
    epoch: int, stages: Stages, is_expected: bool, grace: timedelta, now: datetime
) -> Finding:
    """The finding for a recorded key: the worst that is true of it."""
    logical_time = from_epoch(epoch)
    if not is_expected:
        found = OccurrenceClass.UNEXPECTED
    elif stages.state is None and stages.via != EXTERNAL:
        found = OccurrenceClass.ORPHANED
    elif stages.state in (OccurrenceClass.DEAD, OccurrenceClass.CANCELLED):
        found = OccurrenceClass(stages.state)
    elif stages.recorded_at > logical_time + grace:
        found = OccurrenceClass.LATE
    elif stages.via == EXTERNAL or stages.state == OccurrenceClass.COMPLETED:
        found = OccurrenceClass.COMPLETED
    else:
        found = OccurrenceClass.RUNNING
    return Finding(epoch, found, now - logical_time, None, stages)
