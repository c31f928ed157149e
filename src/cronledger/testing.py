"""For tests of your own handlers: run one in this process, without a database and a worker.

ran = run_job(app, "invoice", payload={"customer": 7})
assert ran.outcome == "completed"
assert ran.effects == {"mail": {"message": "m-1"}}
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cronledger.core.chunks import Chunk, ChunkWork, FollowUp, SplitSoFar
from cronledger.core.lifecycle import UNTIMED, Lease, Timing, parse_known
from cronledger.core.receipts import Begun, Decision
from cronledger.errors import ConfigError, RefusedError
from cronledger.worker.context import Cancellation, JobContext
from cronledger.worker.handlers import Handler, is_async
from cronledger.worker.signals import Discard, Retry

_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


class Receipts:
    """Receipts and chunks in memory. Give several runs the same, and they are attempts of one job.

    `connection` is what `job.transaction()` gives; its handler's rows are left to you to commit.
    """

    def __init__(self, connection: Any = None) -> None:
        self.results: dict[str, Any] = {}
        self.chunks: dict[str, Chunk] = {}
        self.sealed = False
        self.then: FollowUp | None = None
        self._connection = connection
        self._begun: dict[str, str] = {}

    def begin(
        self,
        lease: Lease,
        name: str,
        fingerprint: str,
        window: timedelta | None,  # noqa: ARG002  # the port has it
    ) -> Begun:
        """As the ledger would decide; nothing is ever in doubt here."""
        key = hashlib.sha256(f"{lease.key} {name}".encode()).hexdigest()
        known = self._begun.setdefault(name, fingerprint)
        if known != fingerprint:
            return Begun(Decision.CONFLICT, None, None)
        if name in self.results:
            return Begun(Decision.DONE, None, self.results[name])
        return Begun(Decision.RUN, key, None)

    def commit(self, lease: Lease, name: str, result: Any) -> bool:  # noqa: ARG002  # the port has it
        """It has happened."""
        self.results[name] = result
        return True

    @contextmanager
    def completing(
        self,
        lease: Lease,  # noqa: ARG002  # the port has it
    ) -> Iterator[tuple[Any, Callable[[Timing], bool]]]:
        """The connection that was given."""
        if self._connection is None:
            raise ValueError("the handler asks for a transaction; give Receipts(connection)")
        yield self._connection, lambda _: True

    def split_so_far(self, lease: Lease) -> SplitSoFar:  # noqa: ARG002  # the port has it
        """What earlier runs have done."""
        return SplitSoFar(self.sealed, next(reversed(self.chunks.values()), None))

    def split(
        self,
        lease: Lease,  # noqa: ARG002  # the port has it
        work: ChunkWork,  # noqa: ARG002  # the port has it
        chunks: Sequence[Chunk],
    ) -> int | None:
        """As the ledger would: each name once, none anew once sealed, none for other work."""
        fresh = [chunk for chunk in chunks if chunk.name not in self.chunks]
        if fresh and self.sealed:
            raise RefusedError("the chunks are sealed, so none can be added")
        for chunk in chunks:
            if (known := self.chunks.get(chunk.name)) and known.payload != chunk.payload:
                raise RefusedError(f"chunk {chunk.name} was added as other work")
        self.chunks |= {chunk.name: chunk for chunk in fresh}
        return len(fresh)

    def seal(self, lease: Lease, then: FollowUp | None) -> bool:  # noqa: ARG002  # the port has it
        """No more chunks; what follows is the same every time."""
        if self.sealed and then != self.then:
            raise RefusedError("the chunks are sealed with another follow-up")
        self.sealed, self.then = True, then
        return True


@dataclass(frozen=True, slots=True)
class Ran:
    """How a handler ended: `completed`, `retry` or `discard`, with the reason of the last two.

    `effects` are the results that were committed, by name. `chunks` are the payloads of what it was
    split into, by name; `then` is the kind of what follows them, if they are sealed.
    """

    outcome: str
    reason: str = ""
    retry_after: timedelta | None = None
    effects: Mapping[str, Any] = field(default_factory=dict)
    chunks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    then: str | None = None


@dataclass(slots=True)
class _StillClock:
    """A clock that stands: `remaining()` is always the whole timeout."""

    def now(self) -> datetime:
        return _WHEN

    def monotonic(self) -> timedelta:
        return timedelta(0)

    def draw(self) -> float:
        return 0.5


def run_job(
    handlers: Mapping[str, Handler],
    kind: str,
    payload: Mapping[str, Any] | None = None,
    job: Lease | None = None,
    receipts: Receipts | None = None,
) -> Ran:
    """Run the handler of `kind` once. What it raises beside Retry and Discard is raised here.

    `job` says more of the job than its payload: make one with `job_of`.
    """
    if kind not in handlers:
        known = ", ".join(sorted(handlers))
        raise ConfigError(f"no handler of kind {kind!r}; there are {known}")
    lease = job or job_of(kind)
    if payload is not None:
        lease = replace(lease, payload=payload)
    kept = receipts or Receipts()
    clock, cancellation = _StillClock(), Cancellation()
    context = JobContext(
        lease, kept, lambda commit: commit(UNTIMED), lease.timeout, clock, cancellation
    )
    try:
        _call(handlers[lease.known_as], context)
    except Retry as retry:
        return _ran(kept, "retry", retry.reason, retry.after)
    except Discard as discard:
        return _ran(kept, discard.error_class, discard.reason)
    return _ran(kept, "completed")


def _ran(kept: Receipts, outcome: str, reason: str = "", after: timedelta | None = None) -> Ran:
    chunks = {name: chunk.payload for name, chunk in kept.chunks.items()}
    then = kept.then.kind if kept.then else None
    return Ran(outcome, reason, after, dict(kept.results), chunks, then)


def job_of(
    kind: str, key: str = "test:2026-01-01T00:00:00Z", attempt: int = 1, max_attempts: int = 8
) -> Lease:
    """A job as a handler sees it; `dataclasses.replace` changes the rest."""
    name, version = parse_known(kind)
    return Lease(
        job_id=1,
        token=attempt,
        key=key,
        kind=name,
        queue="default",
        payload={},
        logical_time=_WHEN,
        attempt=attempt,
        max_attempts=max_attempts,
        eligible_at=_WHEN,
        claimed_at=_WHEN,
        expires_at=_WHEN + timedelta(minutes=1),
        span=timedelta(minutes=1),
        timeout=timedelta(hours=1),
        schema_version=version,
    )


def _call(handler: Handler, context: JobContext) -> None:
    if is_async(handler):
        asyncio.run(handler(context))  # type: ignore[arg-type]  # a coroutine, as is_async says
    else:
        handler(context)
