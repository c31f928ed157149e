"""How much of the lookback a pass compares: all of it now and then, and what is new meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from cronledger.core.events import Followed, Reconciled
from cronledger.core.instants import Window
from cronledger.core.schedule import ScheduleFile
from cronledger.core.snapshot import DriftFacts
from cronledger.daemon.board import Board
from cronledger.daemon.passes import SWEEP, Tools
from cronledger.daemon.stopwatch import Stopwatch
from cronledger.flows import reconcile
from cronledger.flows.measure import drift_facts

FIRST_TICK_WAIT = timedelta(milliseconds=200)
# Between two sweeps a schedule with which all was well is compared over this tail of the lookback.
TAIL = timedelta(hours=1)
# A reconcile that is older than so many intervals should have been followed by another.
LATE = 3


class Reconciler:
    """If this sidecar leads, compares what the lookback owed with what is recorded.

    What became missing without being new, because somebody deleted it, is found by the next sweep.
    """

    def __init__(self, board: Board, tools: Tools, lookback: timedelta) -> None:
        self._board, self._ledger, self._zones = board, tools.ledger, tools.zones
        self._observe, self._clock = tools.observe, tools.clock
        self._lookback, self._within = lookback, tools.within
        self._swept: tuple[ScheduleFile, datetime] | None = None

    def once(self) -> timedelta:
        """One pass."""
        board = self._board
        if not board.ticked or board.leads is None:
            # Before the first sweep, what fell due while we were away looks missing and is not.
            return FIRST_TICK_WAIT
        if board.leads:
            stopwatch = Stopwatch(self._clock)
            try:
                with self._within("reconcile"):
                    self._compare(stopwatch)
            finally:
                board.spent(stopwatch.spent)
        else:
            self._follow()
        return board.reconcile_interval

    def _compare(self, stopwatch: Stopwatch) -> None:
        began = self._clock.monotonic()
        file, now = self._board.file, self._ledger.now()
        swept, self._swept = self._swept, None  # a pass that fails leaves the next one all to do
        if swept is None or swept[0] is not file or now - swept[1] >= SWEEP:
            swept = file, now
            found = self._found(file, Window(now - self._lookback, now), stopwatch)
        else:
            found = self._new(file, now, stopwatch)
        self._ledger.reconciled()
        self._board.drift, self._swept = found, swept
        self._observe(
            Reconciled(
                missing=sum(drift.missing for drift in found),
                unexpected=sum(drift.unexpected for drift in found),
                orphaned=sum(drift.orphaned for drift in found),
                duration=self._clock.monotonic() - began,
            )
        )

    def _new(
        self, file: ScheduleFile, now: datetime, stopwatch: Stopwatch
    ) -> tuple[DriftFacts, ...]:
        """The tail of every schedule, and all of those with which something was wrong."""
        lookback = min(self._lookback, TAIL)
        found = {d.schedule: d for d in self._found(file, Window(now - lookback, now), stopwatch)}
        wrong = [d.schedule for d in self._board.drift if d.missing or d.unexpected or d.orphaned]
        if wrong and lookback < self._lookback:
            whole = Window(now - self._lookback, now)
            found |= {d.schedule: d for d in self._found(file, whole, stopwatch, wrong)}
        return tuple(found.values())

    def _found(
        self,
        file: ScheduleFile,
        window: Window,
        stopwatch: Stopwatch,
        only: Collection[str] | None = None,
    ) -> tuple[DriftFacts, ...]:
        drifts = reconcile.watch(
            file.schedules, self._ledger, self._zones, window, stopwatch.phase, only
        )
        return drift_facts(drifts)

    def _follow(self) -> None:
        self._swept = None
        at = self._board.ledger.last_reconcile if self._board.ledger is not None else None
        late = self._board.reconcile_interval * LATE
        fresh = at is not None and self._ledger.now() - at <= late
        self._observe(Followed(at, fresh))
