"""Wake-ups: an idle worker looks for jobs when the database says that there may be some.

Polling is the truth, and a wake-up only makes a look early. Each of them may be lost, and whatever
happens to the connection that brings them, the worker goes on by polling.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

from cronledger.core.events import Lifecycle, LoopFailed, LoopRecovered
from cronledger.errors import RefusedError
from cronledger.ports import Clock, Observe
from cronledger.worker.backoff import pause_after
from cronledger.worker.settings import WorkerSettings
from cronledger.worker.wakeups import WakeUps

# The database says at most once in 25 ms that there are jobs, and of a job whose transaction takes
# longer it says so too early. So a worker that was woken looks again, so long after.
AGAIN = tuple(timedelta(milliseconds=ms) for ms in (25, 75, 300))
# A wake-up is for all who listen, and one of them gets the job. Whom more than two in a row brought
# nothing hears of the next later, and later still, so that a large fleet does little in vain.
IN_VAIN = 2
REST = timedelta(milliseconds=25)
REST_MAX = timedelta(seconds=1)
# A third of how long the database believes that somebody listens.
RENEW = timedelta(seconds=20)
PAUSE_MAX = timedelta(seconds=30)
STOP_SECONDS = 1.0


class Looks:
    """The looks of a worker beside its polls. `heard` and `rest` are for any thread."""

    def __init__(self, clock: Clock, wake: Callable[[], None], poll: timedelta) -> None:
        self._clock = clock
        self._wake = wake
        self._rest_max = min(poll / 2, REST_MAX)
        self._heard = self._woken = False
        self._times: list[timedelta] = []
        self._in_vain = 0

    def heard(self) -> None:
        """There may be jobs."""
        if not self._heard:
            self._heard = True
            self._wake()

    def rest(self) -> timedelta:
        """How long to keep the next wake-up back, because the last ones brought nothing."""
        beyond = self._in_vain - IN_VAIN
        return min(REST * (1 << min(beyond, 10)), self._rest_max) if beyond > 0 else timedelta(0)

    def due(self) -> bool:
        """Whether it is time for a look; asked once for each pass."""
        now = self._clock.monotonic()
        self._woken = self._heard
        if self._heard:
            self._heard = False
            self._times = [now + after for after in AGAIN] if self._in_vain < IN_VAIN else []
            return True
        if self._times and now >= self._times[0]:
            del self._times[0]
            return True
        return False

    def found(self, jobs: int) -> None:
        """So many jobs came of the claim of this pass, whatever it was for."""
        if jobs:
            self._in_vain = 0
        elif self._woken:
            self._in_vain += 1

    def within(self, patience: timedelta) -> timedelta:
        """`patience`, or the time that is left until the next look."""
        if not self._times:
            return patience
        return min(patience, max(self._times[0] - self._clock.monotonic(), timedelta(0)))


class Listener:
    """A thread that hears wake-ups and tells the looks. It never ends by a lost connection."""

    def __init__(
        self,
        wakeups: WakeUps | None,
        settings: WorkerSettings,
        looks: Looks,
        clock: Clock,
        observe: Observe,
    ) -> None:
        self._wakeups = wakeups
        self._settings = settings
        self._looks = looks
        self._clock = clock
        self._observe = observe
        self._failures = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to listen, if there is anything to listen to."""
        if (wakeups := self._wakeups) is not None:
            self._thread = threading.Thread(
                target=self._run, args=(wakeups,), name="cronledger-listener", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None and self._wakeups is not None:
            self._wakeups.end()
            self._thread.join(STOP_SECONDS)

    def _run(self, wakeups: WakeUps) -> None:
        while not self._ended.is_set():
            try:
                self._listen(wakeups)
            except RefusedError as error:
                every = f"{self._settings.poll.total_seconds():g} s"
                self._say("worker_polls_only", f"{error}; it looks for jobs every {every}")
                break
            except Exception as error:  # whatever it was, the worker polls meanwhile
                wakeups.close()
                self._pause(error)
        wakeups.close()

    def _listen(self, wakeups: WakeUps) -> None:
        """Listen until the connection fails or this ends, and renew in time."""
        while not self._ended.is_set():
            if wakeups.listen(self._settings.queues):
                self._say("worker_listens", "an idle queue's next job wakes it")
                # What was enqueued between the last look and now was told to nobody.
                self._looks.heard()
            if self._failures:
                self._observe(LoopRecovered("listener", self._failures))
            self._failures = 0
            self._hear(wakeups)

    def _hear(self, wakeups: WakeUps) -> None:
        until = self._clock.monotonic() + RENEW
        while (left := until - self._clock.monotonic()) > timedelta(0):
            if self._ended.is_set():
                return
            if wakeups.wait(left):
                self._ended.wait(self._looks.rest().total_seconds())
                self._looks.heard()

    def _pause(self, error: Exception) -> None:
        self._failures += 1
        delay = pause_after(self._failures, PAUSE_MAX, self._settings.name)
        self._observe(LoopFailed("listener", str(error), getattr(error, "sqlstate", ""), delay))
        self._ended.wait(delay.total_seconds())

    def _say(self, what: str, detail: str) -> None:
        self._observe(Lifecycle(what, f"{self._settings.name}: {detail}"))
