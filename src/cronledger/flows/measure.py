"""Measure: what the file says and what the ledger holds, put together for one exposition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from cronledger.core.diff import OccurrenceClass
from cronledger.core.expected import Standing, expected
from cronledger.core.instants import from_epoch, up_to
from cronledger.core.schedule import Schedule, ScheduleFile
from cronledger.core.snapshot import (
    DeclaredQueue,
    DeclaredSchedule,
    DriftFacts,
    FileFacts,
    ScheduleState,
)
from cronledger.core.timeline import in_force, next_owed, timeline
from cronledger.flows.reconcile import Drift
from cronledger.ports import Zones

# How far back the latest due occurrence is sought, in steps, so that a frequent schedule is cheap.
_LOOK_BACK = tuple(timedelta(days=days) for days in (0.05, 1, 32, 400))


class Neighbours:
    """The occurrences of each schedule around now; sought again only when the next one has come."""

    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._known: dict[str, tuple[Schedule, datetime | None, datetime | None]] = {}

    def around(
        self, schedule: Schedule, standing: Standing | None, now: datetime
    ) -> tuple[datetime | None, datetime | None]:
        """The latest logical time that is due, and the first that is not; None if there is none."""
        known = self._known.get(schedule.id)
        if known is not None and known[0] == schedule and (known[2] is None or now < known[2]):
            return known[1], known[2]
        last, following = self._last(standing, now), self._next(schedule, now)
        if standing is not None:
            self._known[schedule.id] = (schedule, last, following)
        return last, following

    def _next(self, schedule: Schedule, now: datetime) -> datetime | None:
        found = next_owed(timeline(schedule), now, 1, self._zones.load)
        return found[0].logical_time if found else None

    def _last(self, standing: Standing | None, now: datetime) -> datetime | None:
        for step in _LOOK_BACK if standing is not None else ():
            assert standing is not None
            found = expected(standing.versions, up_to(now - step, now), self._zones.load)
            if found:
                return from_epoch(found[-1])
        return None


def file_facts(
    file: ScheduleFile,
    standings: Iterable[Standing],
    neighbours: Neighbours,
    now: datetime,
) -> FileFacts:
    """What the loaded file says, as of `now`."""
    known: Mapping[str, Standing] = {standing.name: standing for standing in standings}
    return FileFacts(
        digest=file.digest,
        schedules=tuple(
            _declared(schedule, neighbours.around(schedule, known.get(schedule.id), now), now)
            for schedule in file.schedules.values()
        ),
        queues=tuple(DeclaredQueue(q.name, q.objective) for q in file.queues.values()),
    )


def drift_facts(drifts: Iterable[Drift]) -> tuple[DriftFacts, ...]:
    """What a reconcile found, per schedule, as counts; drifts come by schedule, then by time."""
    by_schedule = groupby(drifts, key=lambda drift: drift.schedule)
    return tuple(_drift(schedule, list(of_one)) for schedule, of_one in by_schedule)


def _declared(
    schedule: Schedule, around: tuple[datetime | None, datetime | None], now: datetime
) -> DeclaredSchedule:
    last, following = around
    current = in_force(timeline(schedule), now)
    return DeclaredSchedule(
        schedule=schedule.id,
        queue=schedule.job.queue,
        kind=schedule.job.kind,
        timezone=(current or schedule).timing.timezone,
        state=state_of(schedule, now),
        objective=schedule.objective,
        grace=schedule.grace,
        next_occurrence=following,
        last_due=last,
        severity=schedule.routing.severity,
        team=schedule.routing.team or "",
        schedule_class=schedule.routing.schedule_class,
        runbook=schedule.routing.runbook or "",
    )


def state_of(schedule: Schedule, now: datetime) -> ScheduleState:
    """Whether it is ended, paused or active at `now`."""
    end = schedule.timing.end
    if end is not None and end <= now:
        return ScheduleState.ENDED
    if any(p.start <= now and (p.end is None or now < p.end) for p in schedule.pauses):
        return ScheduleState.PAUSED
    return ScheduleState.ACTIVE


def _drift(schedule: str, drifts: Sequence[Drift]) -> DriftFacts:
    def found(word: OccurrenceClass) -> list[int]:
        return [epoch for drift in drifts for epoch in drift.epochs({word})]

    missing = found(OccurrenceClass.MISSING)
    return DriftFacts(
        schedule=schedule,
        missing=len(missing),
        oldest_missing=from_epoch(missing[0]) if missing else None,
        unexpected=len(found(OccurrenceClass.UNEXPECTED)),
        orphaned=len(found(OccurrenceClass.ORPHANED)),
    )
