"""Which schedules have metrics of their own, where there are too many for all of them to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from cronledger.core.snapshot import DriftFacts, Facts, ScheduleFacts

# A schedule that was unhealthy is shown for so long, so that its series do not come and go.
LINGERS = timedelta(minutes=10)
# Of its objective: from here on a schedule is on its way to be late.
ON_ITS_WAY = 0.5


class PerSchedule(StrEnum):
    """ALL: as far as the limit goes. UNHEALTHY: those that something is wrong with. NONE."""

    ALL = "all"
    UNHEALTHY = "unhealthy"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the operator wants. `most` bounds healthy schedules only."""

    per_schedule: PerSchedule = PerSchedule.ALL
    most: int = 2000


EVERY = Choice()


@dataclass(frozen=True, slots=True)
class Shown:
    """The schedules that are shown, how many the limit leaves out, and when each was last found
    unhealthy, which the next choice is to be told."""

    names: frozenset[str]
    omitted: int = 0
    unhealthy_at: Mapping[str, datetime] = field(default_factory=dict)


def shown(facts: Facts, choice: Choice, before: Mapping[str, datetime]) -> Shown:
    """Unhealthy ones whatever the limit is, then the others by name."""
    names = sorted(schedule.schedule for schedule in facts.file.schedules)
    if choice.per_schedule is PerSchedule.NONE:
        return Shown(frozenset())
    at = dict(before)
    if facts.ledger is not None:
        now = facts.ledger.taken_at
        at |= dict.fromkeys(_unhealthy(facts, now), now)
        at = {name: since for name, since in at.items() if now - since < LINGERS}
    declared = frozenset(names)
    unhealthy = declared.intersection(at)
    if choice.per_schedule is PerSchedule.UNHEALTHY:
        return Shown(unhealthy, 0, at)
    healthy = [name for name in names if name not in unhealthy]
    room = max(choice.most - len(unhealthy), 0)
    return Shown(unhealthy.union(healthy[:room]), len(healthy[room:]), at)


def _unhealthy(facts: Facts, now: datetime) -> Iterator[str]:
    assert facts.ledger is not None
    recorded = {schedule.schedule: schedule for schedule in facts.ledger.schedules}
    drift = {of_one.schedule: of_one for of_one in facts.drift}
    for declared in facts.file.schedules:
        name = declared.schedule
        found = drift.get(name, DriftFacts(name))
        oldest = recorded.get(name, ScheduleFacts(name)).oldest_unfinished
        late = oldest is not None and now - oldest > declared.objective * ON_ITS_WAY
        if late or found.missing or found.unexpected or found.orphaned:
            yield name
