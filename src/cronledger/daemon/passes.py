"""What ticking and pruning do in one pass, and how long they then wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

from cronledger.core.events import HistoryPruned, ReloadFailed
from cronledger.core.schedule import Schedule, ScheduleFile
from cronledger.core.timeline import next_owed, timeline
from cronledger.daemon.board import Board
from cronledger.daemon.stopwatch import Stopwatch
from cronledger.errors import RefusedError
from cronledger.flows.tick import Moment, note, tick
from cronledger.ports import Clock, Ledger, Observe, Prune, Within, Zones, untraced

# Every schedule is looked at this often, due or not: set difference finds what was lost.
SWEEP = timedelta(minutes=5)
# The longest wait; the database's clock may have been set meanwhile.
WAIT_MAX = timedelta(seconds=60)
PRUNE = timedelta(hours=1)


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
        self._within, self._clock = tools.within, tools.clock
        self._noted: ScheduleFile | None = None
        self._next_due: dict[str, datetime | None] = {}
        self._swept_at: datetime | None = None

    def begin(self) -> None:
        """Note the file before the first pass, so that a refusal ends the process."""
        self._noted_file()

    def once(self) -> timedelta:
        """One pass; the wait ends at the next due instant."""
        stopwatch = Stopwatch(self._clock)
        try:
            with self._within("tick"), stopwatch.phase("enqueue"):
                return self._tick()
        finally:
            self._board.spent(stopwatch.spent)

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
        if any(astuple(pruned)):
            self._observe(HistoryPruned(pruned))
        return PRUNE
