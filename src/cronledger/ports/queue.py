"""What the worker and the operator need of the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from cronledger.core.audit import Audit, By
from cronledger.core.doctor import Ailment
from cronledger.core.lifecycle import (
    UNTIMED,
    Failure,
    Job,
    Lease,
    QueueStanding,
    Settlement,
    Timing,
)
from cronledger.core.receipts import Begun, Receipt
from cronledger.ports.chunks import Splits


class LeasedQueue(Protocol):
    """The lease protocol. Every settlement is fenced by the lease's token."""

    def claim(
        self,
        queues: Sequence[str],
        kinds: Sequence[str],
        limit: int,
        worker: str,
        *,
        alone: bool = False,
    ) -> list[Lease]:
        """Lease up to `limit` eligible jobs, queues in the order given; of all if none is.

        `kinds` with their versions, as `known_as` writes them. `alone`: the worker runs nothing
        now, so that it may be given a suspect, which then is all that it is given.
        """

    def extend(self, leases: Sequence[Lease]) -> Mapping[int, bool]:
        """Extend; the tokens still ours, and whether somebody asked that attempt to end.

        The others are lost.
        """

    def complete(self, leases: Sequence[Lease], timings: Sequence[Timing] = ()) -> frozenset[int]:
        """Complete; returns the tokens that were settled. The others are stale.

        `timings`: one for each lease, or none at all.
        """

    def fail(self, lease: Lease, failure: Failure, timing: Timing = UNTIMED) -> Settlement:
        """Settle as failed: RETRYING, DEAD, CANCELLED or STALE."""

    def release(self, leases: Sequence[Lease]) -> frozenset[int]:
        """Hand back, uncharged; returns the tokens that were ours."""

    def rescue(self, limit: int) -> int:
        """Take back up to `limit` expired leases; returns how many."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which jobs are meant; None is any."""

    queue: str | None = None
    state: str | None = None
    kind: str | None = None
    error_class: str | None = None


class Effects(Splits, Protocol):
    """What a handler writes, fenced by the lease: receipts of effects, and chunks. Safe from any
    thread."""

    def begin(self, lease: Lease, name: str, fingerprint: str, window: timedelta | None) -> Begun:
        """Write down that an effect is about to be tried; says whether it is to be."""

    def commit(self, lease: Lease, name: str, result: Any) -> bool:
        """Write down that it has happened; False if the lease is not ours any more."""

    def completing(
        self, lease: Lease
    ) -> AbstractContextManager[tuple[Any, Callable[[Timing], bool]]]:
        """A connection in a transaction, and what completes the job in it and commits both."""


class Outputs(Protocol):
    """What commands wrote."""

    def keep_output(self, job_id: int, token: int, exit_status: int, text: str) -> bool:
        """Keep the output of an attempt; False if the lease is not ours any more."""


class Jobs(Protocol):
    """Jobs as people look at them."""

    def jobs(self, chosen: Chosen, limit: int) -> list[Job]:
        """The newest first."""

    def job(self, job_id: int) -> Job | None:
        """One job by its id."""

    def job_with(self, key: str) -> int | None:
        """The id of the newest job that has this key."""

    def queues(self) -> list[QueueStanding]:
        """Every queue, by name."""

    def audits(
        self, subject: str | None, action: str | None, actor: str | None, limit: int
    ) -> list[Audit]:
        """Manual changes, the newest first."""

    def receipts(self, key: str | None, state: str | None, limit: int) -> list[Receipt]:
        """Receipts of effects, the newest first."""

    def ailments(self) -> list[Ailment]:
        """What is wrong with the database of the ledger."""


class Controls(Protocol):
    """What operators do by hand, each with its audit row in one transaction.

    Each answers with the state in which the job then is. Raises RefusedError where the state of
    the job does not allow it, ConfigError where there is no such job or queue.
    """

    def cancel(self, job_id: int, by: By) -> str:
        """End a waiting job now; ask the worker of a leased one (`cancel_requested`)."""

    def retry_now(self, job_id: int, by: By) -> str:
        """Let a scheduled or retrying job be claimed now."""

    def take_back(self, job_id: int, by: By) -> str:
        """Take the lease from its worker; the attempt is not charged."""

    def prolong(self, job_id: int, span: timedelta, by: By) -> datetime:
        """Let a lease last for `span` from now; returns its end."""

    def replay(self, job_id: int, run_at: datetime | None, by: By) -> str:
        """Bring a dead job to life, under the same key; from `run_at` on, or now."""

    def discard(self, job_id: int, by: By) -> str:
        """Put a dead letter away."""

    def pause(self, queue: str, until: datetime | None, by: By) -> None:
        """Stop the claims of a queue."""

    def resolve(self, key: str, effect: str, result: str | None, by: By, *, happened: bool) -> str:
        """Say whether an effect that was begun has happened (`result`: JSON); its state then."""

    def resume(self, queue: str, by: By) -> bool:
        """Let them go on; False if it was not paused."""
