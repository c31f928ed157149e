"""What each loop of the sidecar does in one pass, and how long it then waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronledger.core.events import Disputed, HistoryPruned, Reconciled, ReloadFailed, Rescued
from cronledger.core.exposition import Exposition
from cronledger.core.instants import Window
from cronledger.core.schedule import Schedule, ScheduleFile
from cronledger.core.snapshot import Facts
from cronledger.core.timeline import next_owed, timeline
from cronledger.daemon.board import Board
from cronledger.errors import RefusedError
from cronledger.flows.measure import Neighbours, drift_facts, file_facts
from cronledger.flows.reconcile import Drift, reconcile
from cronledger.flows.tick import Moment, note, tick
from cronledger.ports import (
    Clock,
    LeasedQueue,
    Ledger,
    Measured,
    Observe,
    Prune,
    Within,
    Zones,
    untraced,
)

# Every schedule is looked at this often, due or not: set difference finds what was lost.
SWEEP = timedelta(minutes=5)
# The longest wait; the database's clock may have been set meanwhile.
WAIT_MAX = timedelta(seconds=60)
RESCUE_LIMIT = 1000
PRUNE = timedelta(hours=1)
FIRST_TICK_WAIT = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True)
class Tools:
    """What a pass works with; the ledger belongs to that pass's thread. `within` is the span of a
    pass."""

    ledger: Ledger
    zones: Zones
    observe: Observe
    clock: Clock
    within: Within = untraced


class Ticker:
    """Ticks the schedules that are due, and all of them every SWEEP."""

    def __init__(self, board: Board, tools: Tools, *, replace: bool) -> None:
        self._board, self._ledger, self._replace = board, tools.ledger, replace
        self._zones, self._observe = tools.zones, tools.observe
        self._within = tools.within
        self._noted: ScheduleFile | None = None
        self._next_due: dict[str, datetime | None] = {}
        self._swept_at: datetime | None = None

    def begin(self) -> None:
        """Note the file before the first pass, so that a refusal ends the process."""
        self._noted_file()

    def once(self) -> timedelta:
        """One pass; the wait ends at the next due instant."""
        with self._within("tick"):
            return self._tick()

    def _tick(self) -> timedelta:
        file = self._noted_file()
        now = self._ledger.now()
        sweep = self._swept_at is None or now - self._swept_at >= SWEEP
        chosen = file.schedules if sweep else self._due(file, now)
        if chosen:
            tick(chosen, self._ledger, self._zones, self._observe, Moment(now))
        if sweep:
            self._swept_at = now
            self._board.ticked = True
        for schedule in chosen.values():
            self._next_due[schedule.id] = self._following(schedule, now)
        coming = [due for due in self._next_due.values() if due is not None]
        return max(timedelta(0), min([due - now for due in coming] + [WAIT_MAX]))

    def sweep_next(self) -> None:
        """Look at every schedule in the next pass: after a failure nobody knows what was done."""
        self._swept_at = None

    def _noted_file(self) -> ScheduleFile:
        file = self._board.file
        if file is not self._noted:
            try:
                note(file, self._ledger, self._zones, self._observe, replace=self._replace)
            except RefusedError as error:
                return self._kept(file, error)
            self._noted, self._swept_at = file, None
            self._next_due.clear()
            self._board.file_noted = True
        return file

    def _kept(self, refused: ScheduleFile, error: RefusedError) -> ScheduleFile:
        """The file in force so far, where there is one: what cannot be noted does not count."""
        if self._noted is None:
            raise error
        self._observe(ReloadFailed(refused.path, (str(error),)))
        self._board.reload_successful = False
        self._board.file = self._noted
        return self._noted

    def _due(self, file: ScheduleFile, now: datetime) -> Mapping[str, Schedule]:
        return {
            id_: file.schedules[id_]
            for id_, due in self._next_due.items()
            if due is not None and due <= now
        }

    def _following(self, schedule: Schedule, now: datetime) -> datetime | None:
        found = next_owed(timeline(schedule), now, 1, self._zones.load)
        return found[0].logical_time if found else None


class Reconciler:
    """Compares what was expected within the lookback with what is recorded."""

    def __init__(self, board: Board, tools: Tools, lookback: timedelta) -> None:
        self._board, self._ledger, self._zones = board, tools.ledger, tools.zones
        self._observe, self._clock = tools.observe, tools.clock
        self._lookback, self._within = lookback, tools.within

    def once(self) -> timedelta:
        """One pass over every schedule that the ledger knows."""
        if not self._board.ticked:
            # Before the first sweep, what fell due while we were away looks missing and is not.
            return FIRST_TICK_WAIT
        with self._within("reconcile"):
            self._compare()
        return self._board.reconcile_interval

    def _compare(self) -> None:
        began = self._clock.monotonic()
        now = self._ledger.now()
        window = Window(now - self._lookback, now)
        schedules = self._board.file.schedules
        drifts = list(reconcile(schedules, self._ledger, self._zones, window, details=False))
        found = drift_facts(drifts)
        self._ledger.reconciled()
        self._board.drift = found
        self._dispute(drifts)
        self._observe(
            Reconciled(
                missing=sum(drift.missing for drift in found),
                unexpected=sum(drift.unexpected for drift in found),
                orphaned=sum(drift.orphaned for drift in found),
                duration=self._clock.monotonic() - began,
            )
        )

    def _dispute(self, drifts: Sequence[Drift]) -> None:
        """Say so while schedules that our file declares are ended in the ledger."""
        ours = self._board.file.schedules
        ended = (d.schedule for d in drifts if d.standing.versions[-1].effective_to is not None)
        self._board.disputed = tuple(name for name in ended if name in ours)
        if self._board.disputed:
            self._observe(Disputed(self._board.disputed))


class Pruner:
    """Makes room for the days to come, and lets go what is kept no longer."""

    def __init__(self, prune: Prune, observe: Observe) -> None:
        self._prune, self._observe = prune, observe
        self._stopping = False

    def stop(self) -> None:
        """End the pass under way soon; safe from any thread."""
        self._stopping = True

    def once(self) -> timedelta:
        """One pass."""
        self._prune.make_days()
        pruned = self._prune.prune(lambda: not self._stopping)
        if any((pruned.days, pruned.jobs, pruned.keys, pruned.receipts)):
            self._observe(HistoryPruned(pruned))
        return PRUNE


class Measurer:
    """Reads one snapshot, and prepares the bytes that `/metrics` serves."""

    def __init__(
        self,
        board: Board,
        tools: Tools,
        measured: Measured,
        queue: LeasedQueue,
        render: Callable[[Facts], Exposition],
        interval: timedelta,
    ) -> None:
        self._board, self._ledger = board, tools.ledger
        self._observe, self._clock = tools.observe, tools.clock
        self._neighbours = Neighbours(tools.zones)
        self._measured, self._queue, self._render = measured, queue, render
        self._interval = interval

    def once(self) -> timedelta:
        """One pass: hygiene first, so that the reading shows its effect."""
        rescued = self._queue.rescue(RESCUE_LIMIT)
        if rescued:
            self._observe(Rescued(rescued))
        self._measured.fold_counters()
        board, began = self._board, self._clock.monotonic()
        sent = self._clock.now()
        now = self._ledger.now()
        board.clock_skew = sent + (self._clock.now() - sent) / 2 - now
        board.ledger = self._measured.snapshot()
        standings = self._ledger.standings(board.file.schedules.keys())
        board.file_facts = file_facts(board.file, standings, self._neighbours, now)
        board.snapshot_duration = self._clock.monotonic() - began
        board.database_up = True
        board.measured_at = self._clock.monotonic()
        self.publish()
        return self._interval

    def failed(self) -> None:
        """Say that the database did not answer; the last reading stays, with its age."""
        self._board.database_up = False
        self.publish()

    def publish(self) -> None:
        """Prepare the exposition of what the board holds."""
        board = self._board
        facts = board.file_facts or file_facts(board.file, (), self._neighbours, self._clock.now())
        board.exposition = self._render(
            Facts(board.process_facts(), facts, board.ledger, board.drift)
        )
