"""Reconcile: what a window owed against what the ledger holds. Writes nothing.

The versions in force at each key's logical time decide what was expected, so an edit of today
never turns yesterday red. Schedules that were ended are compared over the time they were in force.

Expected and recorded keys are compared as blocks of memory, several schedules at a time and long
windows in slices; only schedules that differ are walked. So memory does not grow with the window.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from cronledger.core.expected import Standing, expected, slices
from cronledger.core.instants import Window, from_epoch, up_to
from cronledger.core.keys import OccurrenceKey
from cronledger.core.packed import Packed, difference
from cronledger.core.plan import LeftOut, Reason, suppression
from cronledger.core.retention import DayCount
from cronledger.core.schedule import Schedule, known_as
from cronledger.ports import Ledger, Span, Within, Zones, untraced

# Expected keys of a slice, and of the slices compared in one round of queries: what memory is for.
SLICE_KEYS = 100_000
ROUND_KEYS = 400_000
# The same where each recorded key comes with its stages, which take a hundred times the room.
DETAILED_KEYS = 20_000
# Of schedules that owe little, so many slices make a round.
ROUND_SLICES = 200
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


@dataclass(frozen=True, slots=True)
class Rest:
    """What a reconcile over `window` that was interrupted has left: the keys after `after`."""

    window: Window
    after: OccurrenceKey

    def of(self, schedule: str) -> Window | None:
        """What is left of the window for a schedule, if anything is."""
        if schedule != self.after.schedule:
            return self.window if schedule > self.after.schedule else None
        following = self.after.logical_time + timedelta(seconds=1)
        window = self.window.intersect(following, None)
        return window if window.start < window.end else None


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
    schedules: Mapping[str, Schedule], ledger: Ledger, zones: Zones, window: Window, phase: Within
) -> Iterator[Drift]:
    """As `reconcile`, of every schedule and without details; `phase` is entered for each part of
    the work (expand, compare)."""
    sources = _Sources(ledger, zones, phase)
    yield from _compared(schedules, sources, window, only=None, details=False)


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
    for looks in _rounds(_looks(known, window, now, most), most if details else ROUND_KEYS):
        yield from compare.detailed(looks) if details else compare.plain(looks)


@dataclass(frozen=True, slots=True)
class _Look:
    """A slice of the window of one schedule, and about how many keys it owes."""

    standing: Standing
    window: Window
    keys: int


def _looks(
    known: Iterable[Standing], asked: Window | Rest, now: datetime, most: int
) -> Iterator[_Look]:
    for standing in known:
        window = asked.of(standing.name) if isinstance(asked, Rest) else asked
        if window is None:
            continue
        due = window.intersect(window.start, max(window.start, up_to(now, now).end))
        for part, keys in slices(standing.versions, due, most):
            yield _Look(standing, part, keys)


def _rounds(looks: Iterable[_Look], most: int) -> Iterator[list[_Look]]:
    chunk: list[_Look] = []
    keys = 0
    for look in looks:
        if chunk and (keys + look.keys > most or len(chunk) == ROUND_SLICES):
            yield chunk
            chunk, keys = [], 0
        chunk.append(look)
        keys += look.keys
    if chunk:
        yield chunk


@dataclass(frozen=True, slots=True)
class _Compare:
    """Compares one round of looks after another."""

    ours: Mapping[str, Schedule]
    known: Sequence[Standing]
    sources: _Sources
    now: datetime

    def plain(self, looks: Sequence[_Look]) -> Iterator[Drift]:
        """Keys by set difference, and orphans."""
        with self.sources.phase("expand"):
            owed = [Packed.of(self._owed(look)) for look in looks]
        with self.sources.phase("compare"):
            found = list(self._differing(looks, owed))
        yield from found

    def _differing(self, looks: Sequence[_Look], owed: Sequence[Packed]) -> Iterator[Drift]:
        ledger = self.sources.ledger
        recorded = ledger.packed([(look.standing.id, look.window) for look in looks])
        sides = [
            (look, len(ours), len(theirs), *difference(ours, theirs))
            for look, ours, theirs in zip(looks, owed, recorded, strict=True)
        ]
        left_out = ledger.left_out(_spans(look for look, *_, absent, _ in sides if absent))
        orphaned = ledger.orphaned(_spans(looks))
        for look, owing, knowing, absent, unexpected in sides:
            judged = self._absent(look, absent, left_out.get(look.standing.id, ()))
            # Pruned keys can be as many as a window of years owes.
            findings = [f for f in judged if f.occurrence_class is not OccurrenceClass.PRUNED]
            findings += self._of_class(OccurrenceClass.UNEXPECTED, unexpected)
            lost = _within(look.window, orphaned.get(look.standing.id, ()))
            surprising = set(unexpected) if lost else ()
            orphans = [epoch for epoch in lost if epoch not in surprising]
            findings += self._of_class(OccurrenceClass.ORPHANED, orphans)
            yield _drift(look, owing, knowing, findings)

    def detailed(self, looks: Sequence[_Look]) -> Iterator[Drift]:
        """Every key, with its stages."""
        spans, ledger = _spans(looks), self.sources.ledger
        left_out, stages = ledger.left_out(spans), ledger.stages(spans)
        for look in looks:
            rows = stages.get(look.standing.id, {})
            known = _within(look.window, list(rows))
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

    def _history(self, look: _Look) -> tuple[DayCount, ...]:
        pruned_to = look.standing.pruned_to
        if pruned_to is None or pruned_to <= look.window.start:
            return ()
        return tuple(self.sources.ledger.history(_spans([look])).get(look.standing.id, ()))

    def _owed(self, look: _Look) -> list[int]:
        return expected(look.standing.versions, look.window, self.sources.zones.load)

    def _bounds(self, look: _Look) -> Bounds:
        schedule, pruned_to = self.ours.get(look.standing.name), look.standing.pruned_to
        if schedule is None:
            return Bounds(DEFAULT_GRACE, DEFAULT_OBJECTIVE, pruned_to)
        return Bounds(schedule.grace, schedule.objective, pruned_to)

    def _causes(self, look: _Look, unexpected: Sequence[int]) -> Mapping[int, Cause]:
        if not unexpected:
            return {}
        ids = {name: schedule.id for name, schedule in self.ours.items()}
        kin = namesakes(look.standing, self.known, ids)
        return causes(unexpected, look.standing, kin, self.sources.zones.load)

    def _absent(
        self, look: _Look, absent: Sequence[int], left_out: Sequence[LeftOut]
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


def _drift(look: _Look, owing: int, knowing: int, findings: list[Finding]) -> Drift:
    findings.sort(key=lambda finding: finding.epoch)
    name = look.standing.name
    return Drift(name, look.standing, owing, knowing, tuple(findings), look.window)


def _spans(looks: Iterable[_Look]) -> list[Span]:
    """One window for each schedule of a round; its slices follow one another."""
    spans: dict[int, Window] = {}
    for look in looks:
        first = spans.get(look.standing.id, look.window)
        spans[look.standing.id] = Window(first.start, look.window.end)
    return list(spans.items())


def _within(window: Window, epochs: Sequence[int]) -> Sequence[int]:
    first, last = window.epochs()
    return epochs[bisect_left(epochs, first) : bisect_left(epochs, last)]


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
