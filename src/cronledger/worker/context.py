"""What a handler gets: the job of its attempt, and whether the attempt may still go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cronledger.core.lifecycle import Lease
from cronledger.ports import Clock

LEASE_LOST = "lease_lost"
TIMEOUT = "timeout"
STOPPING = "stopping"

RETRY_AFTER_MAX = timedelta(days=366)


class Retry(BaseException):
    """Raised by a handler: this attempt did not work, try again.

    `after` (0 to 366 days) replaces the back-off; None keeps it. At the last attempt the job is
    dead all the same. Not an Exception, so that a handler's own `except Exception` lets it pass.
    """

    def __init__(self, after: timedelta | None = None, reason: str = "") -> None:
        if after is not None and not isinstance(after, timedelta):
            raise TypeError(f"Retry(after=...) takes a timedelta or None, not {after!r}")
        if after is not None and not timedelta(0) <= after <= RETRY_AFTER_MAX:
            raise ValueError(f"Retry(after=...) takes 0 to 366 days, not {after}")
        self.after = after
        self.reason = reason
        super().__init__(reason)


class Discard(BaseException):
    """Raised by a handler: no attempt will ever work; the job is dead now, with this reason."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        super().__init__(reason)


class Cancelled(BaseException):
    """Raised by `JobContext.check`: the attempt must end. `reason`: lease_lost, timeout, stopping.

    Not an Exception, so that a handler's own `except Exception` lets it pass.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Cancellation:
    """The word that one attempt must end. The first reason stays; safe from any thread."""

    def __init__(self) -> None:
        self._given = threading.Event()
        self._reason = ""
        self._interrupt: Callable[[], None] | None = None

    @property
    def reason(self) -> str:
        """Why, or "" while the attempt may go on."""
        return self._reason

    def cancel(self, reason: str) -> None:
        """Tell the handler; one that can be interrupted is."""
        self._reason = self._reason or reason
        self._given.set()
        if self._interrupt is not None:
            self._interrupt()

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` when cancelled, at once if that has happened already."""
        self._interrupt = interrupt
        if self._given.is_set():
            interrupt()

    def wait(self, span: timedelta) -> None:
        """Until cancelled, `span` at most."""
        self._given.wait(max(span.total_seconds(), 0.0))


@dataclass(frozen=True, slots=True)
class JobContext:
    """One attempt of one job, as its handler sees it.

    `logical_time` is the instant the occurrence is for. `attempt` counts from 1. `token` names
    the lease: hand it to whatever shall refuse the writes of a superseded attempt.
    """

    job_id: int
    key: str
    kind: str
    queue: str
    logical_time: datetime | None
    attempt: int
    max_attempts: int
    payload: Mapping[str, Any]
    token: int
    _deadline: timedelta = field(repr=False)
    _clock: Clock = field(repr=False)
    _cancellation: Cancellation = field(repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the attempt must end: its lease is lost, or its timeout has passed."""
        return bool(self._cancellation.reason) or not self.remaining()

    def check(self) -> None:
        """Nothing while the attempt may go on; call it between steps. Raises Cancelled."""
        if self.cancelled:
            raise Cancelled(self._cancellation.reason or TIMEOUT)

    def remaining(self) -> timedelta:
        """Time until the attempt's timeout; zero once it has passed."""
        return max(self._deadline - self._clock.monotonic(), timedelta(0))

    def wait(self, span: timedelta) -> None:
        """Wait for `span` in a `def` handler; ends early, by Cancelled, if the attempt must end."""
        self._cancellation.wait(min(span, self.remaining()))
        self.check()


def context_of(
    lease: Lease, deadline: timedelta, clock: Clock, cancellation: Cancellation
) -> JobContext:
    """The view of a lease that its handler gets. `deadline` is a moment of `clock.monotonic`."""
    return JobContext(
        job_id=lease.job_id,
        key=lease.key,
        kind=lease.kind,
        queue=lease.queue,
        logical_time=lease.logical_time,
        attempt=lease.attempt,
        max_attempts=lease.max_attempts,
        payload=lease.payload,
        token=lease.token,
        _deadline=deadline,
        _clock=clock,
        _cancellation=cancellation,
    )
