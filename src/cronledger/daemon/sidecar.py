"""The sidecar as a whole: its loops, its file, its endpoints' verdicts, its start and end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from cronledger.core.events import FileReloaded, Lifecycle, ReloadFailed
from cronledger.core.exposition import Exposition
from cronledger.core.schedule import ScheduleFile
from cronledger.daemon.board import Board
from cronledger.daemon.loop import Loop
from cronledger.daemon.measurer import Measurer
from cronledger.daemon.passes import PRUNE, WAIT_MAX, Pruner, Ticker
from cronledger.daemon.reconciler import Reconciler
from cronledger.errors import ConfigError, CronledgerError
from cronledger.ports import Clock, Observe

# A loop whose pass began longer ago than this many of its longest waits hangs.
HANGS_AFTER = 3
STOP_PATIENCE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Passes:
    """The four things a sidecar does."""

    ticker: Ticker
    reconciler: Reconciler
    measurer: Measurer
    pruner: Pruner


class Sidecar:
    """Runs the loops from `start` to `stop`; `reload` is for the thread that hears signals."""

    def __init__(
        self,
        board: Board,
        passes: Passes,
        load: Callable[[], ScheduleFile],
        clock: Clock,
        observe: Observe,
        measure_interval: timedelta,
    ) -> None:
        self._board, self._load, self._clock, self._observe = board, load, clock, observe
        self._ticker, self._measurer = passes.ticker, passes.measurer
        self._pruner = passes.pruner
        self._measure_interval = measure_interval
        ticker, measurer = passes.ticker, passes.measurer
        self._tick = Loop("tick", ticker.once, clock, observe, ticker.sweep_next)
        self._reconcile = Loop("reconcile", passes.reconciler.once, clock, observe)
        self._measure = Loop("measure", self._measuring, clock, observe, measurer.failed)
        self._prune = Loop("prune", passes.pruner.once, clock, observe)
        self._patience = {
            "tick": WAIT_MAX * HANGS_AFTER,
            "reconcile": max(WAIT_MAX, board.reconcile_interval) * HANGS_AFTER,
            "measure": max(WAIT_MAX, measure_interval) * HANGS_AFTER,
            "prune": PRUNE * HANGS_AFTER,
        }

    def prepare(self) -> None:
        """Publish an exposition before the first measurement, so that the server has one."""
        self._measurer.publish()

    def start(self) -> None:
        """Begin. Raises RefusedError for a file that the ledger does not take."""
        self._ticker.begin()
        for loop in self._loops:
            loop.start()
        self._observe(Lifecycle("sidecar_started", self._board.file.path))

    def stop(self) -> None:
        """End each loop after the pass under way. A pass that was cut off changed nothing."""
        self._pruner.stop()
        ended = [loop.stop(STOP_PATIENCE) for loop in self._loops]
        if all(ended):
            self._resign()
        what = "sidecar_stopped" if all(ended) else "sidecar_stopped_in_a_pass"
        self._observe(Lifecycle(what, self._board.file.path))

    def _resign(self) -> None:
        try:
            self._measurer.resign()
        except CronledgerError as error:  # then another one leads when our time is over
            self._observe(Lifecycle("sidecar_did_not_resign", str(error)))

    def _measuring(self) -> timedelta:
        """One pass of the measurer. Who begins to lead reconciles at once.

        The wait of one that follows would else be added to the time since the last reconcile, and
        the alert on that knows nothing of it.
        """
        led = self._board.leads
        delay = self._measurer.once()
        if self._board.leads and not led:
            self._reconcile.wake()
        return delay

    def reload(self) -> None:
        """Load the file again; a broken one leaves the old one in force, and that is said."""
        board = self._board
        try:
            file = self._load()
        except ConfigError as error:
            board.reload_successful = False
            problems = tuple(str(problem) for problem in error.problems)
            self._observe(ReloadFailed(board.file.path, problems))
            return
        board.reload_successful = True
        board.reloaded_at = self._clock.now()
        if file.digest != board.file.digest:
            board.file = file
            self._observe(FileReloaded(file.path, file.digest, len(file.schedules)))
        for loop in self._loops:
            loop.wake()

    def exposition(self) -> Exposition:
        """The bytes of the last measurement."""
        exposition = self._board.exposition
        assert exposition is not None, "start() publishes one before the server asks"
        return exposition

    def why_not_healthy(self) -> list[str]:
        """Loops that hang; none means healthy. Does not ask the database."""
        now = self._clock.monotonic()
        return [
            f"the {loop.name} loop has not begun a pass for {(now - loop.heartbeat).seconds} s"
            for loop in self._loops
            if now - loop.heartbeat > self._patience[loop.name]
        ]

    def is_ticking(self) -> bool:
        """Whether keys are being enqueued: the loop is at work and its last pass was good."""
        return self._board.ticked and not self._tick.failing and not self.why_not_healthy()

    def why_not_ready(self) -> list[str]:
        """Reasons why work cannot be done now."""
        return self._board.why_not_ready(self._clock.monotonic, self._measure_interval * 2)

    @property
    def _loops(self) -> tuple[Loop, ...]:
        return self._tick, self._reconcile, self._measure, self._prune
