"""One tick: what is owed by now and not recorded becomes rows, or is left out with a reason.

1. Expand each schedule over its reach, by the versions in force.
2. Take away what is recorded or left out already.
3. If anything is undecided, lock the schedule and look again.
4. Enqueue what is on time, and what catch-up takes; store what is left out.
Safe to run twice, by many processes at once, and to kill at any point: step 4 is one transaction,
and a unique key decides who writes an occurrence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronledger.core.diff import reasons_of
from cronledger.core.events import Enqueued, KeysLeftOut, VersionsNoted
from cronledger.core.expand import Occurrence
from cronledger.core.expected import Standing, expected, owed
from cronledger.core.instants import Window, from_epoch, to_epoch, up_to
from cronledger.core.plan import LeftOut, Plan, plan, reach, without_overlap
from cronledger.core.schedule import Overlap, Schedule, ScheduleFile, job_of, known_as
from cronledger.core.start import run_ats
from cronledger.errors import StoreError
from cronledger.ports import (
    Decision,
    Enqueue,
    Ledger,
    Noted,
    Noting,
    Observe,
    Unfinished,
    Zones,
)

# Schedules decided on in one transaction: bounds how long a lock is held.
CHUNK = 500
# What a store says when somebody else's lock was not given up in time.
LOCKED = "55P03"
# What becomes of a due key depends on how many earlier ones are unfinished.
COUNTING = frozenset({Overlap.SKIP, Overlap.BUFFER_ONE})


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a tick did about one schedule. `duplicates`: keys that others wrote meanwhile."""

    schedule: str
    enqueued: tuple[Occurrence, ...]
    left_out: tuple[LeftOut, ...]
    duplicates: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The `now` of a tick. `as_of` is set where a person chose it; `every`: how often ticks come,
    so that what fell due in between counts as on time."""

    now: datetime
    as_of: datetime | None = None
    every: timedelta = timedelta(0)


def note(
    file: ScheduleFile,
    ledger: Ledger,
    zones: Zones,
    observe: Observe,
    at: datetime | None = None,
    *,
    replace: bool = False,
) -> Noted:
    """Make the ledger's versions those of the file, from now (or `at`) on."""
    queues = tuple(file.queues.values())
    noting = Noting(queues, zones, at, replace, file.retry_budget, file.retention)
    noted = ledger.note(file.schedules.values(), noting)
    if noted.opened or noted.ended:
        observe(VersionsNoted(noted.opened, noted.ended, noted.late))
    return noted


def tick(
    schedules: Mapping[str, Schedule],
    ledger: Ledger,
    zones: Zones,
    observe: Observe,
    moment: Moment,
) -> list[Ticked]:
    """Decide on everything due by `moment.now`; only schedules about which something was done.

    Raises StoreError, after all others were decided on, for a schedule that somebody has locked.
    """
    ours = {name: s for name, s in known_as(schedules).items() if s.managed_by is None}
    known = [(ours[s.name], s) for s in ledger.standings(ours.keys())]
    done: list[Ticked] = []
    locked: list[StoreError] = []
    for start in range(0, len(known), CHUNK):
        chunk = known[start : start + CHUNK]
        try:
            done += _Pass(ledger, zones, observe, moment).run(chunk)
        except StoreError as error:
            if error.sqlstate != LOCKED:
                raise
            done += _one_by_one(_Pass(ledger, zones, observe, moment), chunk, locked)
    if locked:
        raise locked[0]
    return done


def _one_by_one(
    one_pass: _Pass, chunk: Sequence[tuple[Schedule, Standing]], locked: list[StoreError]
) -> list[Ticked]:
    """What a lock on one of them must not hold up; those that are locked are added to `locked`."""
    done: list[Ticked] = []
    for pair in chunk:
        try:
            done += one_pass.run([pair])
        except StoreError as error:
            if error.sqlstate != LOCKED:
                raise
            locked.append(StoreError(f"{pair[1].name}: {error}", error.sqlstate))
    return done


@dataclass(frozen=True, slots=True)
class _Look:
    """A schedule, its expected keys in reach, and what to do about them."""

    schedule: Schedule
    standing: Standing
    expected: list[int]
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Pass:
    """One chunk of schedules at one moment."""

    ledger: Ledger
    zones: Zones
    observe: Observe
    moment: Moment

    def run(self, known: Sequence[tuple[Schedule, Standing]]) -> list[Ticked]:
        seen = {standing.id: standing.decided_to for _, standing in known}
        open_ids = {
            look.standing.id
            for look in self._look(known, seen)
            if look.plan.enqueue or look.plan.left_out
        }
        if not open_ids:
            return []
        chosen = [pair for pair in known if pair[1].id in open_ids]
        with self.ledger.deciding(sorted(open_ids)) as decided_to:
            looks = self._look(chosen, decided_to)
            done = self._write(looks)
            self.ledger.decided(
                [self._decision(look, decided_to[look.standing.id]) for look in looks],
                up_to(self.moment.now, self.moment.now).end,
            )
        for ticked in done:
            self._report(ticked)
        return [t for t in done if t.enqueued or t.left_out or t.duplicates]

    def _look(
        self, known: Sequence[tuple[Schedule, Standing]], decided_to: Mapping[int, datetime]
    ) -> list[_Look]:
        now = self.moment.now
        windows = {
            standing.id: self._reach(schedule, standing, decided_to[standing.id])
            for schedule, standing in known
        }
        spans = list(windows.items())
        recorded = self.ledger.recorded(spans)
        left_out = self.ledger.left_out(spans)
        counting = [s.id for schedule, s in known if schedule.overlap in COUNTING]
        unfinished = self.ledger.unfinished(counting) if counting else {}
        looks = []
        for schedule, standing in known:
            due = expected(standing.versions, windows[standing.id], self.zones.load)
            settled = _settled(due, recorded.get(standing.id, []), left_out.get(standing.id, []))
            made = plan(
                schedule, due, settled, decided_to[standing.id], now, self._deadline(schedule)
            )
            left = unfinished.get(standing.id, Unfinished(0, 0))
            made = without_overlap(made, due, schedule.overlap, left.waiting + left.leased)
            looks.append(_Look(schedule, standing, due, made))
        return looks

    def _reach(self, schedule: Schedule, standing: Standing, decided_to: datetime) -> Window:
        """Never so far back that keys are pruned: what is not there may have been."""
        window = reach(schedule, decided_to, self.moment.now, self._deadline(schedule))
        pruned_to = standing.pruned_to
        return window if pruned_to is None else window.intersect(pruned_to, None)

    def _write(self, looks: Sequence[_Look]) -> list[Ticked]:
        for look in looks:
            if look.schedule.overlap is Overlap.CANCEL_OTHER and look.plan.enqueue:
                self.ledger.cancel_unfinished(look.standing.id)
        batch = [self._enqueue(look) for look in looks]
        written = self.ledger.enqueue_once(
            [item for item in batch if item.owed], "tick", self.moment.as_of
        )
        done = []
        for look, item in zip(looks, batch, strict=True):
            new = set(written.get(look.standing.id, ()))
            enqueued = tuple(o.occurrence for o in item.owed if o.occurrence.instant in new)
            duplicates = len(item.owed) - len(enqueued)
            done.append(Ticked(look.standing.name, enqueued, look.plan.left_out, duplicates))
        return done

    def _enqueue(self, look: _Look) -> Enqueue:
        schedule, versions, epochs = look.schedule, look.standing.versions, look.plan.enqueue
        found = tuple(owed(versions, epochs, self.zones.load))
        following = [self._following(look, epoch) for epoch in epochs]
        starts = run_ats(schedule, epochs, following, look.plan.caught_up, self.moment.now)
        return Enqueue(look.standing.id, job_of(schedule), found, tuple(starts))

    def _following(self, look: _Look, epoch: int) -> int | None:
        """The next expected key, if it may bound the splay."""
        if not look.schedule.splay:
            return None
        start = from_epoch(epoch + 1)
        window = Window(start, start + look.schedule.splay)
        return next(iter(expected(look.standing.versions, window, self.zones.load)), None)

    def _decision(self, look: _Look, decided_to: datetime) -> Decision:
        came_due = sum(1 for epoch in look.expected if epoch >= to_epoch(decided_to))
        return Decision(look.standing.id, look.plan.left_out, came_due)

    def _deadline(self, schedule: Schedule) -> timedelta:
        return schedule.deadline + self.moment.every

    def _report(self, ticked: Ticked) -> None:
        if ticked.enqueued or ticked.duplicates:
            epochs = tuple(occurrence.instant for occurrence in ticked.enqueued)
            self.observe(Enqueued(ticked.schedule, epochs, ticked.duplicates))
        if ticked.left_out:
            self.observe(KeysLeftOut(ticked.schedule, ticked.left_out))


def _settled(
    due: Sequence[int], recorded: Sequence[int], left_out: Sequence[LeftOut]
) -> frozenset[int]:
    """The keys that need no decision: recorded, or left out before."""
    return frozenset(recorded).union(reasons_of(due, left_out))
