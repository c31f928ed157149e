"""One running attempt: how it ends, once, whichever of handler, timeout and lease comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

from cronledger.core.events import Attempted
from cronledger.core.lifecycle import UNTIMED, Failure, Lease, Settlement, Timing
from cronledger.ports import Clock, Effects
from cronledger.worker.context import Cancellation, JobContext
from cronledger.worker.signals import LEASE_LOST, STOPPING, TIMEOUT


class Attempt:
    """An attempt from its claim to its end. Times are moments of the local monotonic clock.

    `held_until` is when the lease surely still holds, counted from the moment the last accepted
    request was *sent*; `extend_at` when to send the next. The keeper alone moves these two.
    """

    # Thousands are made a second; without a dictionary for each they cost half as much.
    __slots__ = (
        "_clock",
        "_deciding",
        "_done",
        "_over",
        "began",
        "cancellation",
        "claimed",
        "committed",
        "context",
        "deadline",
        "ended",
        "extend_at",
        "failure",
        "held_until",
        "lease",
        "lost",
        "started",
    )

    def __init__(
        self,
        lease: Lease,
        sent: timedelta,
        clock: Clock,
        effects: Effects,
        done: Callable[[Attempt], None],
    ) -> None:
        self.lease = lease
        self.claimed = sent
        self.began: timedelta | None = None
        self.cancellation = Cancellation()
        self.started = self.ended = clock.monotonic()
        self.deadline = self.started + lease.timeout
        self.context = JobContext(
            lease, effects, self.settle, self.deadline, clock, self.cancellation
        )
        self.failure: Failure | None = None
        self.lost = False
        self.committed = False
        self._clock = clock
        self._done = done
        self._over = False
        self._deciding = threading.Lock()
        self.held(sent)

    def held(self, sent: timedelta) -> None:
        """A request sent at that moment was accepted."""
        self.held_until = sent + self.lease.span
        self.extend_at = sent + self.lease.span / 3

    @property
    def over(self) -> bool:
        """Whether it has ended, though its handler may run on."""
        return self._over

    @property
    def was_stopped(self) -> bool:
        """Whether it ended because its worker leaves."""
        return self.failure is not None and self.failure.error_class == STOPPING

    def begin(self) -> None:
        """Its handler starts now."""
        self.began = self._clock.monotonic()

    def timing(self, until: timedelta) -> Timing:
        """How long after its claim the handler began, and ran `until` that moment."""
        began = self.began
        return UNTIMED if began is None else Timing(began - self.claimed, until - began)

    def finish(self, failure: Failure | None) -> bool:
        """End the attempt, completed if there is no failure; False if it had ended before."""
        with self._deciding:
            if self._over:
                return False
            self._over = True
            self.failure = failure
            self.ended = self._clock.monotonic()
        self._done(self)
        return True

    def settle(self, commit: Callable[[Timing], bool]) -> bool:
        """Complete the job by a transaction of its handler's own, unless the attempt has ended.

        False, and nothing is committed, if it had ended or the lease was lost.
        """
        with self._deciding:
            if self._over or self.lost:
                return False
            # From here on a lease that is gone is no loss: the job may be completed.
            self.committed = True
        try:
            self.committed = commit(self.timing(self._clock.monotonic()))
        except BaseException:
            self.committed = False
            raise
        return self.committed

    def expire(self) -> bool:
        """The timeout has passed: end the attempt, then tell the handler. False if it had ended."""
        first = self.finish(Failure(TIMEOUT, f"ran longer than {self.lease.timeout}"))
        if first:
            self.cancellation.cancel(TIMEOUT)
        return first

    def lose(self) -> bool:
        """The lease is lost: bar the attempt from settling, and tell the handler.

        False if the attempt had ended (then the fence decides) or was lost already. The slot
        stays taken until the handler ends, or its timeout passes.
        """
        with self._deciding:
            if self._over or self.lost or self.committed:
                return False
            self.lost = True
        self.cancellation.cancel(LEASE_LOST)
        return True

    def ended_as(self, settlement: Settlement) -> Attempted:
        """What is told of it, once it is settled."""
        failure = None if self.committed else self.failure
        error_class = LEASE_LOST if self.lost else failure.error_class if failure else None
        return Attempted(
            self.lease,
            settlement,
            self.ended - self.started,
            error_class,
            failure.message if failure else "",
            failure.raised_at if failure else None,
        )
