"""Backdating: make the versions of the file hold from their own dates, in the past of the ledger.

A person orders it, with a reason. Recorded keys stay; what the versions owe beyond them is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from cronledger.core.audit import AuditEntry, By
from cronledger.core.edits import Edit, compare_keys
from cronledger.core.expected import Standing
from cronledger.core.instants import Window, format_instant, from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.core.schedule import Schedule, Version
from cronledger.core.timeline import ALWAYS, timeline
from cronledger.ports import Ledger, Zones

# Keys written out in one audit row; the counts are always whole.
AUDITED = 1000


@dataclass(frozen=True, slots=True)
class Backdating:
    """What the dates of one schedule change in the past: `since` is the earliest of them."""

    schedule: Schedule
    standing: Standing
    since: datetime
    edit: Edit


def plan_backdating(
    schedules: Iterable[Schedule], standings: Mapping[str, Standing], zones: Zones, now: datetime
) -> Iterator[Backdating]:
    """One for each schedule of the ledger whose past the dates of the file would change."""
    for schedule in schedules:
        standing = standings.get(schedule.id)
        dates = [d.effective_from for d in schedule.versions if ALWAYS < d.effective_from < now]
        if standing is None or not dates:
            continue
        since = min(dates)
        edit = compare_keys(
            standing.versions, _from(schedule, since), zones.load, Window(since, now)
        )
        if edit.added or edit.removed or edit.moved:
            yield Backdating(schedule, standing, since, replace(edit, schedule=schedule.id))


def _from(schedule: Schedule, since: datetime) -> list[Version]:
    return [v for v in timeline(schedule) if v.effective_from >= since]


def backdate(planned: Backdating, by: By, ledger: Ledger, zones: Zones) -> None:
    """Do it, with its audit row, in one transaction."""
    edit = planned.edit
    changed = {
        "added": [*edit.added, *(new for _, new in edit.moved)],
        "removed": [*edit.removed, *(old for old, _ in edit.moved)],
    }
    name = planned.schedule.id
    detail: dict[str, object] = {"since": format_instant(planned.since)}
    for word, epochs in changed.items():
        keys = [str(OccurrenceKey(name, from_epoch(epoch))) for epoch in sorted(epochs)]
        detail |= {word: keys[:AUDITED], f"{word}_count": len(keys)}
    with ledger.changing():
        ledger.backdate(planned.schedule, planned.since, zones)
        ledger.audit(AuditEntry(by, "backdate", name, detail))
