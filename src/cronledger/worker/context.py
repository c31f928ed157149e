"""What a handler gets: the job of its attempt, and whether the attempt may still go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from cronledger.core.chunks import FollowUp
from cronledger.core.lifecycle import Lease
from cronledger.ports import Clock, Effects
from cronledger.worker.chunks import Split, splitting
from cronledger.worker.effects import Settle, WriteOnce, completing
from cronledger.worker.signals import TIMEOUT, Cancelled


class Cancellation:
    """The word that one attempt must end. The first reason stays; safe from any thread."""

    __slots__ = ("_interrupt", "_making", "_reason", "_waiting")

    def __init__(self) -> None:
        self._reason = ""
        # Made by who waits first: most attempts end without, and it is the dearest part of one.
        self._waiting: threading.Event | None = None
        self._making = threading.Lock()
        self._interrupt: Callable[[], None] | None = None

    @property
    def reason(self) -> str:
        """Why, or "" while the attempt may go on."""
        return self._reason

    def cancel(self, reason: str) -> None:
        """Tell the handler; one that can be interrupted is."""
        self._reason = self._reason or reason
        with self._making:
            if self._waiting is not None:
                self._waiting.set()
        if self._interrupt is not None:
            self._interrupt()

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` when cancelled, at once if that has happened already."""
        self._interrupt = interrupt
        if self._reason:
            interrupt()

    def wait(self, span: timedelta) -> None:
        """Until cancelled, `span` at most."""
        with self._making:
            if self._reason:
                return
            waiting = self._waiting = self._waiting or threading.Event()
        waiting.wait(max(span.total_seconds(), 0.0))


class JobContext:
    """One attempt of one job, as its handler sees it."""

    __slots__ = ("_cancellation", "_clock", "_deadline", "_effects", "_lease", "_settle")

    def __init__(
        self,
        lease: Lease,
        effects: Effects,
        settle: Settle,
        deadline: timedelta,
        clock: Clock,
        cancellation: Cancellation,
    ) -> None:
        """`deadline` is a moment of `clock.monotonic`; `settle` runs what completes the job,
        unless its attempt has ended."""
        self._lease = lease
        self._effects = effects
        self._settle = settle
        self._deadline = deadline
        self._clock = clock
        self._cancellation = cancellation

    def __repr__(self) -> str:
        return f"<job {self.key} of kind {self.kind}, attempt {self.attempt}>"

    @property
    def job_id(self) -> int:
        """Of the job, in the ledger."""
        return self._lease.job_id

    @property
    def key(self) -> str:
        """What the job is for, the same in every attempt and every replay."""
        return self._lease.key

    @property
    def kind(self) -> str:
        """Which handler it is for."""
        return self._lease.kind

    @property
    def queue(self) -> str:
        """The queue it came from."""
        return self._lease.queue

    @property
    def logical_time(self) -> datetime | None:
        """The instant the occurrence is for; None of a job that no schedule owes."""
        return self._lease.logical_time

    @property
    def attempt(self) -> int:
        """Counts from 1."""
        return self._lease.attempt

    @property
    def max_attempts(self) -> int:
        """After so many the job is dead."""
        return self._lease.max_attempts

    @property
    def payload(self) -> Mapping[str, Any]:
        """What the job was enqueued with."""
        return self._lease.payload

    @property
    def schema_version(self) -> int:
        """The version of the payload."""
        return self._lease.schema_version

    @property
    def tenant(self) -> str | None:
        """For whom, if anybody said so."""
        return self._lease.tenant

    @property
    def headers(self) -> Mapping[str, Any]:
        """What travels with the job beside its payload, such as `traceparent`."""
        return self._lease.headers or {}

    @property
    def token(self) -> int:
        """Names the lease: hand it to whatever shall refuse the writes of a superseded attempt."""
        return self._lease.token

    @property
    def cancelled(self) -> bool:
        """Whether the attempt must end: its lease is lost, its timeout has passed, or so told."""
        return bool(self._cancellation.reason) or not self.remaining()

    def check(self) -> None:
        """Nothing while the attempt may go on; call it between steps. Raises Cancelled."""
        if self.cancelled:
            raise Cancelled(self._cancellation.reason or TIMEOUT)

    def remaining(self) -> timedelta:
        """Time until the attempt's timeout; zero once it has passed."""
        return max(self._deadline - self._clock.monotonic(), timedelta(0))

    def write_once(
        self, name: str, *, inputs: Any = None, window: timedelta | None = None
    ) -> WriteOnce:
        """An outside effect under a receipt: `with job.write_once("email", inputs=...) as effect`.

        `name` is the effect within this job; `inputs` are JSON, and the same in every attempt;
        `window` is how long the provider knows a key (None: for ever). Raises EffectConflict,
        EffectInDoubt, or Cancelled if the lease is lost.
        """
        return WriteOnce(self._effects, self._lease, name, inputs, window)

    def transaction(self) -> AbstractContextManager[Any]:
        """A psycopg connection to the ledger's database, in a transaction that commits together
        with the completion of this job: the rows and the completion, or neither.

        For `def` handlers, once, as the last thing. Raises Cancelled if the lease is lost.
        """
        return completing(self._effects, self._lease, self._settle)

    def split(
        self,
        kind: str,
        then: str | FollowUp | None = None,
        *,
        queue: str | None = None,
        max_attempts: int | None = None,
        timeout: timedelta | None = None,
    ) -> Split:
        """Split the work into chunks: `with job.split("part", then="report") as chunks`.

        Each `chunks.add(name, payload)` is a job of `kind`, enqueued once whatever the number of
        attempts of this one. When the `with` ends there are no more, and when all are completed
        `then` is enqueued, once. One split for a job; call it last.
        """
        work, following = splitting(kind, then, queue, max_attempts, timeout)
        return Split(self._effects, self._lease, work, following)

    def wait(self, span: timedelta) -> None:
        """Wait for `span` in a `def` handler; ends early, by Cancelled, if the attempt must end."""
        self._cancellation.wait(min(span, self.remaining()))
        self.check()
