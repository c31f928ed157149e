"""One named loop on a thread of its own: a pass, a wait, and patience when a pass fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Condition, Thread

from cronledger.core.events import LoopFailed, LoopRecovered
from cronledger.errors import CronledgerError, StoreError
from cronledger.ports import Clock, Observe

# How long a loop rests after a failed pass: doubling from the first to the last.
REST_FIRST = timedelta(seconds=1)
REST_MAX = timedelta(seconds=10)


class Loop:
    """Calls `once` again and again; it returns how long to wait. Never ends by an error.

    `on_failure` hears of each failed pass before the rest. `heartbeat` is when the last pass
    began, on the monotonic clock.
    """

    def __init__(
        self,
        name: str,
        once: Callable[[], timedelta],
        clock: Clock,
        observe: Observe,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.heartbeat = clock.monotonic()
        self._once, self._clock = once, clock
        self._observe, self._on_failure = observe, on_failure
        self._state = Condition()
        self._stopping = self._woken = False
        self._failures = 0
        self._thread = Thread(target=self._run, name=f"cronledger-{name}", daemon=True)

    @property
    def failing(self) -> bool:
        """Whether the last pass that ended failed."""
        return self._failures > 0

    def start(self) -> None:
        """Begin; the first pass is at once."""
        self._thread.start()

    def wake(self) -> None:
        """Make the next pass come now."""
        with self._state:
            self._woken = True
            self._state.notify()

    def stop(self, patience: timedelta) -> bool:
        """End after the pass under way; whether it ended in time."""
        with self._state:
            self._stopping = True
            self._state.notify()
        if self._thread.ident is None:
            return True  # never started
        self._thread.join(patience.total_seconds())
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping:
            self.heartbeat = self._clock.monotonic()
            self._wait(self._pass())

    def _pass(self) -> timedelta:
        try:
            delay = self._once()
        except Exception as error:  # a loop outlives every error, and tells of it
            self._failures += 1
            return self._failed(error)
        if self._failures:
            self._observe(LoopRecovered(self.name, self._failures))
        self._failures = 0
        return delay

    def _failed(self, error: Exception) -> timedelta:
        doubled: timedelta = REST_FIRST * 2 ** min(self._failures - 1, 10)
        rest = min(doubled, REST_MAX) * (0.5 + self._clock.draw())
        sqlstate = error.sqlstate if isinstance(error, StoreError) else ""
        text = str(error) if isinstance(error, CronledgerError) else repr(error)
        self._observe(LoopFailed(self.name, text, sqlstate, rest))
        try:
            self._on_failure()
        except Exception as again:  # what a failure sets right may fail as well
            self._observe(LoopFailed(self.name, repr(again), "", rest))
        return rest

    def _wait(self, delay: timedelta) -> None:
        with self._state:
            if not self._woken and not self._stopping and delay > timedelta(0):
                self._state.wait(delay.total_seconds())
            self._woken = False
