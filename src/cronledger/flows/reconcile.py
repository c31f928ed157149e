"""Reconcile: what a window owed against what the ledger holds. Writes nothing.

The versions in force at each key's logical time decide what was expected, so an edit of today
never turns yesterday red. Schedules that were ended are compared over the time they were in force.

Expected and recorded keys are compared as blocks of memory, several schedules at a time and long
windows in slices; only schedules that differ are walked. So memory does not grow with the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cronledger.core.causes import Cause, causes, namesakes
from cronledger.core.diff import (
    Bounds,
    Fate,
    Finding,
    OccurrenceClass,
    Stages,
    classify_absent,
    classify_recorded,
    reasons_for,
)
from cronledger.core.expected import Standing, expected
from cronledger.core.instants import Window, from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.core.packed import Packed, difference
from cronledger.core.plan import LeftOut
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
Details = bool | Collection[OccurrenceClass]


@dataclass(frozen=True, slots=True)
class Drift:
    """One schedule over one window. `findings` ascend by logical time.

    `counts`: how many keys are in each class, those among them of which no finding was asked for.
    `history`: what the days that the window touches keep of occurrences that were dropped. Without
    details there is none, and only missing, omitted, suppressed, unexpected and orphaned keys are
    found and counted, without causes.
    """

    schedule: str
    standing: Standing
    expected: int
    recorded: int
    findings: tuple[Finding, ...]
    window: Window
    counts: Mapping[OccurrenceClass, int]
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
    details: Details = True,
) -> Iterator[Drift]:
    """Compare each schedule that the ledger knows (or those in `only`), by name and then by time.

    A long window of a busy schedule comes in several drifts. What is not due yet by the database's
    clock is not looked at. `details`: of every key, of none, or of keys in these classes; without
    the completed ones among them, these are counted and never read one by one.
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
    details: Details,
) -> Iterator[Drift]:
    ledger = sources.ledger
    now = ledger.now()
    ours = known_as(schedules)
    names = None if only is None else {n for n, s in ours.items() if s.id in only} | set(only)
    with sources.phase("expand"):
        known = sorted(ledger.standings(names), key=lambda standing: standing.name)
    compare = _Compare(ours, known, sources, now)
    wanted = frozenset(OccurrenceClass) if details is True else frozenset(details or ())
    each = OccurrenceClass.COMPLETED in wanted
    most, of_round = (DETAILED_KEYS,) * 2 if each else (SLICE_KEYS, ROUND_KEYS)
    for looks in rounds(looks_of(known, window, now, most), of_round):
        if each:
            yield from compare.detailed(looks, wanted)
        else:
            yield from compare.notable(looks, wanted) if wanted else compare.plain(looks)


# A look, how many keys it owes, those that are recorded, and those of only one side.
_Sides = tuple[Look, int, Packed, list[int], list[int]]


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
        for look, owing, recorded, absent, unexpected in sides:
            judged = self._absent(look, absent, left_out.get(look.standing.id, ()))
            # Pruned keys can be as many as a window of years owes.
            findings = [f for f in judged if f.occurrence_class is not OccurrenceClass.PRUNED]
            findings += self._of_class(OccurrenceClass.UNEXPECTED, unexpected)
            lost = within(look.window, orphaned.get(look.standing.id, ()))
            surprising = set(unexpected) if lost else ()
            orphans = [epoch for epoch in lost if epoch not in surprising]
            findings += self._of_class(OccurrenceClass.ORPHANED, orphans)
            yield _drift(look, (owing, len(recorded)), findings)

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
                sides.append((look, len(ours), theirs, *difference(ours, theirs)))
        beyond = next(recorded, None)  # and the connection is free again
        assert beyond is None
        return sides

    def notable(
        self, looks: Sequence[Look], wanted: Collection[OccurrenceClass]
    ) -> Iterator[Drift]:
        """Keys by set difference, with the stages of those that did not plainly complete."""
        ledger, sides, spans = self.sources.ledger, self._sides(looks), spans_of(looks)
        left_out = ledger.left_out(spans_of(look for look, *_, absent, _ in sides if absent))
        graces = {look.standing.id: self._bounds(look).grace for look in looks}
        stages = ledger.notable(spans, [graces[id_] for id_, _ in spans])
        for look, owing, recorded, absent, unexpected in sides:
            rows = stages.get(look.standing.id, {})
            # What has come since the keys were compared is for the next time.
            known = [epoch for epoch in within(look.window, list(rows)) if epoch in recorded]
            strange = self._strange(look, unexpected)
            plainly = len(recorded) - len(strange.keys() | set(known))
            held = {**{epoch: rows[epoch] for epoch in known}, **strange}
            findings = self._findings(look, (absent, unexpected), held, left_out)
            yield self._told(look, (owing, len(recorded)), findings, wanted, plainly)

    def _strange(self, look: Look, unexpected: Sequence[int]) -> Mapping[int, Stages]:
        if not unexpected:
            return {}
        moments = [Window(from_epoch(epoch), from_epoch(epoch + 1)) for epoch in unexpected]
        found = self.sources.ledger.stages([(look.standing.id, moment) for moment in moments])
        return found.get(look.standing.id, {})

    def detailed(
        self, looks: Sequence[Look], wanted: Collection[OccurrenceClass]
    ) -> Iterator[Drift]:
        """Every key, with its stages."""
        spans, ledger = spans_of(looks), self.sources.ledger
        left_out, stages = ledger.left_out(spans), ledger.stages(spans)
        for look in looks:
            rows = stages.get(look.standing.id, {})
            known = within(look.window, list(rows))
            owed = self._owed(look)
            sides = difference(Packed.of(owed), Packed.of(known))
            held = {epoch: rows[epoch] for epoch in known}
            findings = self._findings(look, sides, held, left_out)
            yield self._told(look, (len(owed), len(known)), findings, wanted)

    def _findings(
        self,
        look: Look,
        sides: tuple[Sequence[int], Sequence[int]],
        held: Mapping[int, Stages],
        left_out: Mapping[int, Sequence[LeftOut]],
    ) -> Iterator[Finding]:
        absent, unexpected = sides
        found, bounds = self._causes(look, unexpected), self._bounds(look)
        yield from self._absent(look, absent, left_out.get(look.standing.id, ()))
        for epoch, row in held.items():
            yield classify_recorded(epoch, row, bounds, self.now, found.get(epoch))

    def _told(
        self,
        look: Look,
        keys: tuple[int, int],
        findings: Iterator[Finding],
        wanted: Collection[OccurrenceClass],
        plainly: int = 0,
    ) -> Drift:
        """The drift with the findings wanted; `plainly`: how many completed beside them."""
        counts: Counter[OccurrenceClass] = Counter()
        kept: list[Finding] = []
        for finding in findings:
            counts[finding.occurrence_class] += 1
            if finding.occurrence_class in wanted:
                kept.append(finding)
        if plainly:
            counts[OccurrenceClass.COMPLETED] += plainly
        return replace(_drift(look, keys, kept), counts=counts, history=self._history(look))

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
        reasons = reasons_for(schedule, absent, left_out)
        return classify_absent(absent, reasons, self._bounds(look), self.now)

    def _of_class(
        self, occurrence_class: OccurrenceClass, epochs: Sequence[int]
    ) -> Iterator[Finding]:
        for epoch in epochs:
            age = self.now - from_epoch(epoch)
            yield Finding(epoch, occurrence_class, age, Fate(occurrence_class))


def _drift(look: Look, keys: tuple[int, int], findings: list[Finding]) -> Drift:
    """`keys`: how many are expected, how many recorded."""
    findings.sort(key=lambda finding: finding.epoch)
    counts = Counter(finding.occurrence_class for finding in findings)
    name = look.standing.name
    return Drift(name, look.standing, *keys, tuple(findings), look.window, counts)
