"""Where ended attempts arrive, and how long the worker waits for them."""

from __future__ import annotations

import queue
from datetime import timedelta

from cronledger.ports import Clock
from cronledger.worker.attempt import Attempt

# How long one ended attempt waits for others, so that they are settled and replaced together.
GATHER = timedelta(milliseconds=5)


class Mailbox:
    """Ended attempts, put in from any thread. A wake-up is an empty letter."""

    def __init__(self, clock: Clock) -> None:
        # A SimpleQueue, because its `put` is safe in a signal handler.
        self._letters: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._clock = clock

    def put(self, attempt: Attempt) -> None:
        """The attempt has ended."""
        self._letters.put(attempt)

    def wake(self) -> None:
        """End a wait."""
        self._letters.put(None)

    def take(self, patience: timedelta, expected: int) -> list[Attempt]:
        """What arrives within `patience`: the first, and up to `expected` right behind it."""
        found: list[Attempt] = []
        until = self._clock.monotonic() + patience
        while len(found) < expected or not found:
            try:
                letter = self._next(until)
            except queue.Empty:
                break
            if letter is None:
                break
            if not found:
                until = self._clock.monotonic() + GATHER
            found.append(letter)
        return found

    def _next(self, until: timedelta) -> Attempt | None:
        if not self._letters.empty():
            # The only reader, so it is still there; most of a full batch needs no clock.
            return self._letters.get_nowait()
        left = (until - self._clock.monotonic()).total_seconds()
        return self._letters.get(timeout=max(left, 0.0))
