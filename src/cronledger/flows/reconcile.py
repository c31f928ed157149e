"""Reconcile: what a window owed against what the ledger holds. Writes nothing.

The versions in force at each key's logical time decide what was expected, so an edit of today
never turns yesterday red. Schedules that were ended are compared over the time they were in force.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronledger.core.diff import (
    Finding,
    OccurrenceClass,
    Stages,
    classify_absent,
    classify_recorded,
    difference,
    reasons_of,
)
from cronledger.core.expected import Standing, expected
from cronledger.core.instants import Window, from_epoch, up_to
from cronledger.core.plan import LeftOut, Reason, suppression
from cronledger.core.schedule import Schedule, known_as
from cronledger.ports import Ledger, Within, Zones, untraced

# Schedules compared in one round of queries: bounds the memory of a pass.
CHUNK = 100
DEFAULT_GRACE = timedelta(minutes=5)  # for schedules that no file knows any more


@dataclass(frozen=True, slots=True)
class Drift:
    """One schedule over one window. `findings` ascend by logical time.

    Without details, only missing, omitted, suppressed, unexpected and orphaned keys are found.
    """

    schedule: str
    standing: Standing
    expected: int
    recorded: int
    findings: tuple[Finding, ...]

    def epochs(self, wanted: Collection[OccurrenceClass]) -> list[int]:
        """The logical times of the findings in any of the classes, ascending."""
        return [f.epoch for f in self.findings if f.occurrence_class in wanted]


def reconcile(
    schedules: Mapping[str, Schedule],
    ledger: Ledger,
    zones: Zones,
    window: Window,
    *,
    only: Collection[str] | None = None,
    details: bool = True,
) -> Iterator[Drift]:
    """Compare each schedule that the ledger knows (or those in `only`), by name.

    What is not due yet by the database's clock is not looked at.
    """
    yield from _rounds(schedules, _Sources(ledger, zones, untraced), window, only, details)


def watch(
    schedules: Mapping[str, Schedule], ledger: Ledger, zones: Zones, window: Window, phase: Within
) -> Iterator[Drift]:
    """As `reconcile`, of every schedule and without details; `phase` is entered for each part of
    the work (expand, compare)."""
    yield from _rounds(schedules, _Sources(ledger, zones, phase), window, None, details=False)


@dataclass(frozen=True, slots=True)
class _Sources:
    ledger: Ledger
    zones: Zones
    phase: Within


def _rounds(
    schedules: Mapping[str, Schedule],
    sources: _Sources,
    window: Window,
    only: Collection[str] | None,
    details: bool,
) -> Iterator[Drift]:
    ledger, zones, phase = sources.ledger, sources.zones, sources.phase
    now = ledger.now()
    due = window.intersect(window.start, max(window.start, up_to(now, now).end))
    ours = known_as(schedules)
    names = None if only is None else {n for n, s in ours.items() if s.id in only} | set(only)
    with phase("expand"):
        standings = ledger.standings(names)
    for start in range(0, len(standings), CHUNK):
        chunk = standings[start : start + CHUNK]
        with phase("expand"):
            owed = [expected(standing.versions, due, zones.load) for standing in chunk]
        with phase("compare"):
            held = _Held.read(ledger, [(standing.id, due) for standing in chunk], details)
            found = [
                _compare(ours.get(standing.name), standing, keys, held, now)
                for standing, keys in zip(chunk, owed, strict=True)
            ]
        yield from found


@dataclass(frozen=True, slots=True)
class _Held:
    """What the ledger holds of a chunk of schedules, by schedule id."""

    recorded: Mapping[int, list[int]]
    left_out: Mapping[int, list[LeftOut]]
    stages: Mapping[int, Mapping[int, Stages]]
    orphaned: Mapping[int, list[int]]

    @classmethod
    def read(cls, ledger: Ledger, spans: Sequence[tuple[int, Window]], details: bool) -> _Held:
        left_out = ledger.left_out(spans)
        if details:
            stages = ledger.stages(spans)
            return cls({id_: sorted(rows) for id_, rows in stages.items()}, left_out, stages, {})
        return cls(ledger.recorded(spans), left_out, {}, ledger.orphaned(spans))


def _compare(
    schedule: Schedule | None, standing: Standing, owed: list[int], held: _Held, now: datetime
) -> Drift:
    recorded = held.recorded.get(standing.id, [])
    absent, unexpected = difference(owed, recorded)
    grace = schedule.grace if schedule is not None else DEFAULT_GRACE
    reasons = _reasons(schedule, absent, held.left_out.get(standing.id, []))
    findings = list(classify_absent(absent, reasons, grace, now))
    surprising = set(unexpected)
    stages = held.stages.get(standing.id, {})
    for epoch, row in stages.items():
        findings.append(classify_recorded(epoch, row, epoch not in surprising, grace, now))
    if not stages:
        findings += _without_details(unexpected, held.orphaned.get(standing.id, []), now)
    findings.sort(key=lambda finding: finding.epoch)
    return Drift(standing.name, standing, len(owed), len(recorded), tuple(findings))


def _reasons(
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


def _without_details(
    unexpected: Sequence[int], orphaned: Sequence[int], now: datetime
) -> Iterator[Finding]:
    surprising = set(unexpected)
    for epoch in unexpected:
        yield Finding(epoch, OccurrenceClass.UNEXPECTED, now - from_epoch(epoch))
    for epoch in orphaned:
        if epoch not in surprising:
            yield Finding(epoch, OccurrenceClass.ORPHANED, now - from_epoch(epoch))
