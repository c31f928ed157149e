"""Keeps leases alive while their attempts run, and gives up in time those that it cannot keep.

Two threads: one extends, on a connection of its own; one watches the clock and never waits for the
database, so that a database that does not answer cannot delay a verdict.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from cronledger.core.events import LeaseLost, LoopFailed, LoopRecovered
from cronledger.ports import Clock, LeasedQueue, Observe
from cronledger.worker.attempt import Attempt
from cronledger.worker.backoff import pause_after
from cronledger.worker.signals import CANCELLED

# A handler is told this part of the span before its lease may end.
MARGIN = 1 / 10
WAIT_MAX = timedelta(hours=1)
STOP_SECONDS = 1.0


class Keeper:
    """Holds the leases of running attempts. `name` differs between processes."""

    def __init__(self, queue: LeasedQueue, clock: Clock, observe: Observe, name: str) -> None:
        self._queue = queue
        self._clock = clock
        self._observe = observe
        extending = _Task("keeper", lambda attempt: attempt.extend_at, self._extend)
        watching = _Task("watch", _verdict_due, self._watch)
        self._extending = _Alarm(extending, clock, observe, name)
        self._watching = _Alarm(watching, clock, observe, name)

    def start(self) -> None:
        """Begin with nothing held."""
        self._extending.start()
        self._watching.start()

    def stop(self) -> None:
        """End both threads; what is still held simply expires."""
        self._extending.stop()
        self._watching.stop()

    def hold(self, attempts: Sequence[Attempt]) -> None:
        """Extend their leases, and watch them and their timeouts."""
        self._extending.hold(attempts)
        self._watching.hold(attempts)

    def drop(self, attempts: Sequence[Attempt]) -> None:
        """They have ended."""
        self._extending.drop(attempts)
        self._watching.drop(attempts)

    def _extend(self, held: Sequence[Attempt]) -> None:
        """One round. An attempt missing from the answer has lost its lease."""
        sent = self._clock.monotonic()
        # By token: of two leases of one job, the later counts.
        ours = self._queue.extend(sorted((a.lease for a in held), key=lambda lease: lease.token))
        for attempt in held:
            if attempt.lease.token in ours:
                attempt.held(sent)
            if ours.get(attempt.lease.token):
                attempt.cancellation.cancel(CANCELLED)
        self._lose([a for a in held if a.lease.token not in ours])

    def _watch(self, held: Sequence[Attempt]) -> None:
        now = self._clock.monotonic()
        late = [attempt for attempt in held if now >= attempt.deadline]
        self.drop(late)
        for attempt in late:
            attempt.expire()
        self._lose([a for a in held if not a.lost and now >= _surely_held_until(a)])

    def _lose(self, attempts: Sequence[Attempt]) -> None:
        # Not extended any more, but watched: their timeout still frees their slots.
        self._extending.drop(attempts)
        for attempt in attempts:
            if attempt.lose():
                self._observe(LeaseLost(attempt.lease))


def _surely_held_until(attempt: Attempt) -> timedelta:
    return attempt.held_until - attempt.lease.span * MARGIN


def _verdict_due(attempt: Attempt) -> timedelta:
    """When there is something to say about it, if nothing changes meanwhile."""
    if attempt.lost:
        return attempt.deadline
    return min(attempt.deadline, _surely_held_until(attempt))


@dataclass(frozen=True, slots=True)
class _Task:
    """What an alarm does: `ring`, with all it holds, at the earliest `due` of any of it."""

    name: str
    due: Callable[[Attempt], timedelta]
    ring: Callable[[Sequence[Attempt]], None]


class _Alarm:
    """A thread for one task. It never ends by an exception, and comes back soon after one."""

    def __init__(self, task: _Task, clock: Clock, observe: Observe, process: str) -> None:
        self._task = task
        self._clock = clock
        self._observe = observe
        self._process = process
        self._held: dict[int, Attempt] = {}
        self._changed = threading.Condition()
        self._wakes_at = self._not_before = clock.monotonic()
        self._failures = 0
        self._closing = False
        name = f"cronledger-{task.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(STOP_SECONDS)

    def hold(self, attempts: Sequence[Attempt]) -> None:
        due = min(map(self._task.due, attempts), default=timedelta.max)
        with self._changed:
            self._held.update((attempt.lease.token, attempt) for attempt in attempts)
            if max(due, self._not_before) < self._wakes_at:
                self._changed.notify()

    def drop(self, attempts: Iterable[Attempt]) -> None:
        with self._changed:
            for attempt in attempts:
                self._held.pop(attempt.lease.token, None)

    def _run(self) -> None:
        while held := self._wait():
            try:
                self._task.ring(held)
            except Exception as error:  # a failed round is unknown, not loss: try again
                self._pause(held, error)
            else:
                if self._failures:
                    self._observe(LoopRecovered(self._task.name, self._failures))
                self._failures = 0

    def _wait(self) -> list[Attempt]:
        """What is held, once it is time; nothing when closing."""
        with self._changed:
            while not self._closing:
                now = self._clock.monotonic()
                self._wakes_at = min(self._earliest(), now + WAIT_MAX)
                if self._held and self._wakes_at <= now:
                    return list(self._held.values())
                self._changed.wait((self._wakes_at - now).total_seconds())
        return []

    def _earliest(self) -> timedelta:
        due = min(map(self._task.due, self._held.values()), default=timedelta.max)
        return max(due, self._not_before)

    def _pause(self, held: Sequence[Attempt], error: Exception) -> None:
        self._failures += 1
        # Several tries must fit into what is left of the shortest lease.
        cap = min(attempt.lease.span for attempt in held) / 6
        delay = pause_after(self._failures, cap, self._process)
        self._not_before = self._clock.monotonic() + delay
        sqlstate = getattr(error, "sqlstate", "")
        self._observe(LoopFailed(self._task.name, str(error), sqlstate, delay))
