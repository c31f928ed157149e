"""Expected against recorded: the class and the fate of every key, by set difference.

A key is missing when it is expected, past grace, and neither recorded nor left out, and when no
record of that time was ever dropped. Its class says the worst that is true of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cronledger.core.causes import Cause
from cronledger.core.instants import from_epoch
from cronledger.core.plan import LeftOut, Reason, suppression
from cronledger.core.schedule import Schedule

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


class Fate(StrEnum):
    """What became of a key, in one word; its class says what to act on.

    Completed on time is within the schedule's objective, whether it was recorded late or not.
    """

    MISSING = "missing"
    UNEXPECTED = "unexpected"
    ORPHANED = "orphaned"
    DEAD = "dead"
    CANCELLED = "cancelled"
    OMITTED = "omitted"
    SUPPRESSED = "suppressed"
    PRUNED = "pruned"
    RETRYING = "retrying"
    RUNNING = "running"
    ELIGIBLE = "eligible"
    SCHEDULED = "scheduled"
    COMPLETED_LATE = "completed_late"
    COMPLETED_ON_TIME = "completed_on_time"


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
    """One key, its class and its fate. `age`: how long ago its logical time was.

    `reason`: why it was left out. `cause`: where an unexpected one likely comes from, if that was
    asked for.
    """

    epoch: int
    occurrence_class: OccurrenceClass
    age: timedelta
    fate: Fate
    reason: Reason | None = None
    stages: Stages | None = None
    cause: Cause | None = None


def reasons_of(epochs: Sequence[int], left_out: Sequence[LeftOut]) -> Mapping[int, Reason]:
    """Why each of `epochs` (ascending) was left out, for those that lie in a range."""
    found: dict[int, Reason] = {}
    for span in left_out:
        for epoch in epochs[bisect_left(epochs, span.start) : bisect_left(epochs, span.end)]:
            found.setdefault(epoch, span.reason)
    return found


def reasons_for(
    schedule: Schedule | None, absent: Sequence[int], left_out: Sequence[LeftOut]
) -> dict[int, Reason]:
    """Why absent keys are not missing: stored by a tick, or said by the file now."""
    reasons = dict(reasons_of(absent, left_out))
    if schedule is not None and (schedule.pauses or schedule.skip):
        for epoch in absent:
            said = suppression(schedule, epoch)
            if said is not None:
                reasons.setdefault(epoch, said)
    return reasons


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a schedule's keys are judged by: how long one may lack a record, how long it may stay
    unfinished, and before when a record may have been dropped (None: none was)."""

    grace: timedelta
    objective: timedelta
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
            yield Finding(epoch, left, age, Fate(left), reason)
        elif bounds.pruned_to is not None and logical_time < bounds.pruned_to:
            yield Finding(epoch, OccurrenceClass.PRUNED, age, Fate.PRUNED)
        elif age > bounds.grace:
            yield Finding(epoch, OccurrenceClass.MISSING, age, Fate.MISSING)


def classify_recorded(
    epoch: int, stages: Stages, bounds: Bounds, now: datetime, cause: Cause | None = None
) -> Finding:
    """The finding for a recorded key: the worst that is true of it. `cause`: it is unexpected."""
    logical_time = from_epoch(epoch)
    if cause is not None:
        found = OccurrenceClass.UNEXPECTED
    elif stages.state is None and stages.via != EXTERNAL:
        found = OccurrenceClass.ORPHANED
    elif stages.state in (OccurrenceClass.DEAD, OccurrenceClass.CANCELLED):
        found = OccurrenceClass(stages.state)
    elif stages.recorded_at > logical_time + bounds.grace:
        found = OccurrenceClass.LATE
    elif _is_completed(stages):
        found = OccurrenceClass.COMPLETED
    else:
        found = OccurrenceClass.RUNNING
    fate = _fate(found, stages, logical_time + bounds.objective)
    return Finding(epoch, found, now - logical_time, fate, None, stages, cause)


def _is_completed(stages: Stages) -> bool:
    return stages.via == EXTERNAL or stages.state == OccurrenceClass.COMPLETED


def _fate(found: OccurrenceClass, stages: Stages, latest: datetime) -> Fate:
    """The class itself, except where that leaves open how far the job came."""
    if found not in (OccurrenceClass.LATE, OccurrenceClass.COMPLETED, OccurrenceClass.RUNNING):
        return Fate(found)
    if _is_completed(stages):
        # Of another scheduler's run only its record is known.
        ended = stages.committed_at or stages.recorded_at
        return Fate.COMPLETED_LATE if ended > latest else Fate.COMPLETED_ON_TIME
    return Fate.RUNNING if stages.state == "leased" else Fate(str(stages.state))
