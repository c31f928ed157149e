"""The dead man's switch: after each good pass somebody outside hears of us, or misses us."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Condition, Thread

from cronledger.core.events import PingFailed, PingSent
from cronledger.ports import Clock, Observe

# Longer than each step of a ping may take by itself; it bounds their sum, names looked up included.
PING_SECONDS_MAX = 15.0
# The same trouble is told again after this long.
TELL_AGAIN = timedelta(minutes=10)

# Sends one ping; says why it did not arrive, "" if it did. May take its time, and must not raise.
Send = Callable[[], str]


class Pinger:
    """Pings on a thread of its own: a pass that was good neither waits for it nor fails by it.

    Every ping is counted by `count`; `tell` hears of the first failure, of the same trouble now
    and then, and of its end.
    """

    def __init__(self, send: Send, clock: Clock, count: Observe, tell: Observe) -> None:
        self._send, self._clock = send, clock
        self._count, self._tell = count, tell
        self._state = Condition()
        self._wanted = self._stopping = False
        self._sending: Thread | None = None
        self._failures = 0
        self._told_at: timedelta | None = None
        self._thread = Thread(target=self._run, name="cronledger-ping", daemon=True)

    def start(self) -> None:
        """Be ready to ping."""
        self._thread.start()

    def ping(self) -> None:
        """Ask for a ping; returns at once. Asked again before it was sent, one is sent."""
        with self._state:
            self._wanted = True
            self._state.notify()

    def stop(self) -> None:
        """Send nothing more. A ping under way may go on; the process need not wait for it."""
        with self._state:
            self._stopping = True
            self._state.notify()

    def _run(self) -> None:
        while self._asked():
            reason = self._attempt()
            if reason:
                self._failed(reason)
            else:
                self._arrived()

    def _asked(self) -> bool:
        """Waits for a wish; False when it is time to stop."""
        with self._state:
            self._state.wait_for(lambda: self._wanted or self._stopping)
            self._wanted = False
            return not self._stopping

    def _attempt(self) -> str:
        if self._sending is not None and self._sending.is_alive():
            return "an earlier ping is still under way"
        said: list[str] = []
        self._sending = Thread(
            target=lambda: said.append(self._send()), name="cronledger-ping-send", daemon=True
        )
        self._sending.start()
        self._sending.join(PING_SECONDS_MAX)
        return said[0] if said else f"no answer within {PING_SECONDS_MAX:g} s"

    def _failed(self, reason: str) -> None:
        self._failures += 1
        event, now = PingFailed(reason, self._failures), self._clock.monotonic()
        self._count(event)
        if self._told_at is None or now - self._told_at >= TELL_AGAIN:
            self._told_at = now
            self._tell(event)

    def _arrived(self) -> None:
        event = PingSent(self._failures)
        self._count(event)
        if self._told_at is not None:
            self._tell(event)
        self._failures, self._told_at = 0, None
