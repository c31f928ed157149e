"""Reconcile: what a window owed against what the ledger holds. Writes nothing.

The versions in force at each key's logical time decide what was expected, so an edit of today
never turns yesterday red. Schedules that were ended are compared over the time they were in force.

Expected and recorded keys are compared as blocks of memory, several schedules at a time and long
windows in slices; only schedules that differ are walked. So memory does not grow with the window.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cronledger.core.causes import Cause, causes, namesakes
from cronledger.core.diff import (
    Bounds,
    Fate,
    Finding,
    OccurrenceClass,
    classify_absent,
    classify_recorded,
    reasons_of,
)
from cronledger.core.expected import Standing, expected
from cronledger.core.instants import Window, from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.core.packed import Packed, difference
from cronledger.core.plan import LeftOut, Reason, suppression
from cronledger.core.retention import DayCount
from cronledger.core.schedule import Schedule, known_as
from cronledger.flows.slicing import Look, Rest, looks_of, rounds, spans_of, within
from cronledger.ports import Ledger, Within, Zones, untraced

# Expected keys of a slice, and of the slices compared in one round of queries: what memory is for.
SLICE_KEYS = 100_000
ROUND_KEYS = 400_000
# The same where each recorded key comes with its stages, which take a hundred times the room.
DETAILED_KEYS = 20_000
# For schedules that no file knows any more.
DEFAULT_GRACE, DEFAULT_OBJECTIVE = timedelta(minutes=5), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Drift:
    """One schedule over one window. `findings` ascend by logical time.

    `history`: what the days that the window touches keep of occurrences that were dropped. Without
    details there is none, and only missing, omitted, suppressed, unexpected and orphaned keys are
    found, without causes.
    """

    schedule: str
    standing: Standing
    expected: int
    recorded: int
    findings: tuple[Finding, ...]
    window: Window
    history: tuple[DayCount, ...] = ()

    def epochs(self, wanted: Collection[OccurrenceClass]) -> list[int]:
        """The logical times of the findings in any of the classes, ascending."""
        return [f.epoch for f in self.findings if f.occurrence_class in wanted]

    @property
    def reached(self) -> OccurrenceKey:
        """The last key that may lie in it: a reconcile that was interrupted goes on after it."""
        return OccurrenceKey(self.schedule, from_epoch(self.window.epochs()[1] - 1))


def reconcile(
    schedules: Mapping[str, Schedule],
    ledger: Ledger,
    zones: Zones,
    window: Window | Rest,
    *,
    only: Collection[str] | None = None,
    details: bool = True,
) -> Iterator[Drift]:
    """Compare each schedule that the ledger knows (or those in `only`), by name and then by time.

    A long window of a busy schedule comes in several drifts. What is not due yet by the database's
    clock is not looked at.
    """
    yield from _compared(schedules, _Sources(ledger, zones, untraced), window, only, details)


def watch(
    schedules: Mapping[str, Schedule],
    ledger: Ledger,
    zones: Zones,
    window: Window,
    phase: Within,
    only: Collection[str] | None = None,
) -> Iterator[Drift]:
    """As `reconcile`, without details; `phase` is entered for each part of the work (expand,
    compare)."""
    sources = _Sources(ledger, zones, phase)
    yield from _compared(schedules, sources, window, only, details=False)


@dataclass(frozen=True, slots=True)
class _Sources:
    ledger: Ledger
    zones: Zones
    phase: Within


def _compared(
    schedules: Mapping[str, Schedule],
    sources: _Sources,
    window: Window | Rest,
    only: Collection[str] | None,
    details: bool,
) -> Iterator[Drift]:
    ledger = sources.ledger
    now = ledger.now()
    ours = known_as(schedules)
    names = None if only is None else {n for n, s in ours.items() if s.id in only} | set(only)
    with sources.phase("expand"):
        known = sorted(ledger.standings(names), key=lambda standing: standing.name)
    most = DETAILED_KEYS if details else SLICE_KEYS
    compare = _Compare(ours, known, sources, now)
    for looks in rounds(looks_of(known, window, now, most), most if details else ROUND_KEYS):
        yield from compare.detailed(looks) if details else compare.plain(looks)


# A look, how many keys it owes and how many are recorded, and those of only one side.
_Sides = tuple[Look, int, int, list[int], list[int]]


@dataclass(frozen=True, slots=True)
class _Compare:
    """Compares one round of looks after another."""

    ours: Mapping[str, Schedule]
    known: Sequence[Standing]
    sources: _Sources
    now: datetime

    def plain(self, looks: Sequence[Look]) -> Iterator[Drift]:
        """Keys by set difference, and orphans."""
        ledger = self.sources.ledger
        sides = self._sides(looks)
        with self.sources.phase("compare"):
            left_out = ledger.left_out(spans_of(look for look, *_, absent, _ in sides if absent))
            orphaned = ledger.orphaned(spans_of(looks))
        for look, owing, knowing, absent, unexpected in sides:
            judged = self._absent(look, absent, left_out.get(look.standing.id, ()))
            # Pruned keys can be as many as a window of years owes.
            findings = [f for f in judged if f.occurrence_class is not OccurrenceClass.PRUNED]
            findings += self._of_class(OccurrenceClass.UNEXPECTED, unexpected)
            lost = within(look.window, orphaned.get(look.standing.id, ()))
            surprising = set(unexpected) if lost else ()
            orphans = [epoch for epoch in lost if epoch not in surprising]
            findings += self._of_class(OccurrenceClass.ORPHANED, orphans)
            yield _drift(look, owing, knowing, findings)

    def _sides(self, looks: Sequence[Look]) -> list[_Sides]:
        """What stands on one side only. The server reads the next keys while we expand ours."""
        phase = self.sources.phase
        recorded = self.sources.ledger.packed([(look.standing.id, look.window) for look in looks])
        sides: list[_Sides] = []
        for look in looks:
            with phase("expand"):
                ours = Packed.of(self._owed(look))
            with phase("compare"):
                theirs = next(recorded)
                sides.append((look, len(ours), len(theirs), *difference(ours, theirs)))
        beyond = next(recorded, None)  # and the connection is free again
        assert beyond is None
        return sides

    def detailed(self, looks: Sequence[Look]) -> Iterator[Drift]:
        """Every key, with its stages."""
        spans, ledger = spans_of(looks), self.sources.ledger
        left_out, stages = ledger.left_out(spans), ledger.stages(spans)
        for look in looks:
            rows = stages.get(look.standing.id, {})
            known = within(look.window, list(rows))
            owed = self._owed(look)
            absent, unexpected = difference(Packed.of(owed), Packed.of(known))
            found = self._causes(look, unexpected)
            bounds = self._bounds(look)
            findings = list(self._absent(look, absent, left_out.get(look.standing.id, ())))
            findings += [
                classify_recorded(epoch, rows[epoch], bounds, self.now, found.get(epoch))
                for epoch in known
            ]
            drift = _drift(look, len(owed), len(known), findings)
            yield replace(drift, history=self._history(look))

    def _history(self, look: Look) -> tuple[DayCount, ...]:
        pruned_to = look.standing.pruned_to
        if pruned_to is None or pruned_to <= look.window.start:
            return ()
        return tuple(self.sources.ledger.history(spans_of([look])).get(look.standing.id, ()))

    def _owed(self, look: Look) -> list[int]:
        return expected(look.standing.versions, look.window, self.sources.zones.load)

    def _bounds(self, look: Look) -> Bounds:
        schedule, pruned_to = self.ours.get(look.standing.name), look.standing.pruned_to
        if schedule is None:
            return Bounds(DEFAULT_GRACE, DEFAULT_OBJECTIVE, pruned_to)
        return Bounds(schedule.grace, schedule.objective, pruned_to)

    def _causes(self, look: Look, unexpected: Sequence[int]) -> Mapping[int, Cause]:
        if not unexpected:
            return {}
        ids = {name: schedule.id for name, schedule in self.ours.items()}
        kin = namesakes(look.standing, self.known, ids)
        return causes(unexpected, look.standing, kin, self.sources.zones.load)

    def _absent(
        self, look: Look, absent: Sequence[int], left_out: Sequence[LeftOut]
    ) -> Iterator[Finding]:
        schedule = self.ours.get(look.standing.name)
        reasons = _reasons(schedule, absent, left_out)
        return classify_absent(absent, reasons, self._bounds(look), self.now)

    def _of_class(
        self, occurrence_class: OccurrenceClass, epochs: Sequence[int]
    ) -> Iterator[Finding]:
        for epoch in epochs:
            age = self.now - from_epoch(epoch)
            yield Finding(epoch, occurrence_class, age, Fate(occurrence_class))


def _drift(look: Look, owing: int, knowing: int, findings: list[Finding]) -> Drift:
    findings.sort(key=lambda finding: finding.epoch)
    name = look.standing.name
    return Drift(name, look.standing, owing, knowing, tuple(findings), look.window)


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
