"""How a handler splits its work into chunks: named jobs, each enqueued once, and what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any

from cronledger.core.chunks import Chunk, ChunkWork, FollowUp, SplitSoFar, check_name
from cronledger.core.lifecycle import Lease, parse_known
from cronledger.errors import RefusedError
from cronledger.ports import Splits
from cronledger.worker.signals import LEASE_LOST, Cancelled, ChunkConflict

BATCH = 500


class Split:
    """What `JobContext.split` gives: for `with`, or for `async with` in an `async def`.

    `sealed` and `last` say what earlier attempts of the job have done: whether all chunks are there
    already, and the one that was added last, for a handler that goes on from there.
    """

    def __init__(
        self, splits: Splits, lease: Lease, work: ChunkWork, then: FollowUp | None
    ) -> None:
        self._splits, self._lease = splits, lease
        self._work, self._then = work, then
        self._waiting: dict[str, Chunk] = {}
        self._before = SplitSoFar()
        self.added = 0

    @property
    def sealed(self) -> bool:
        """Whether an earlier attempt has added all chunks."""
        return self._before.sealed

    @property
    def last(self) -> Chunk | None:
        """The chunk that an earlier attempt added last, if any."""
        return self._before.last

    def add(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        tenant: str | None = None,
        run_at: datetime | None = None,
    ) -> None:
        """One more chunk, unless it is there. Written with others, and at the end of the `with`.

        `name` is the chunk within this job, and means the same work in every attempt. Raises
        Cancelled if the lease is lost, ChunkConflict for a name that means something else.
        """
        check_name(name)
        if run_at is not None and run_at.tzinfo is None:
            raise ValueError(f"chunk {name!r}: run_at needs a zone, such as UTC")
        chunk = Chunk(name, payload or {}, tenant, run_at)
        if self._waiting.setdefault(name, chunk) != chunk:
            raise ChunkConflict(f"chunk {name!r} is added twice and means different work")
        if len(self._waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write now what was added so far; it stays there whatever becomes of the attempt."""
        chunks = list(self._waiting.values())
        if not chunks:
            return
        try:
            added = self._splits.split(self._lease, self._work, chunks)
        except RefusedError as error:
            raise ChunkConflict(str(error)) from error
        if added is None:
            raise Cancelled(LEASE_LOST)
        self.added += added
        self._waiting.clear()

    def __enter__(self) -> Split:
        self._before = self._splits.split_so_far(self._lease)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.flush()
            self._seal()

    async def __aenter__(self) -> Split:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _seal(self) -> None:
        try:
            held = self._splits.seal(self._lease, self._then)
        except RefusedError as error:
            raise ChunkConflict(str(error)) from error
        if not held:
            raise Cancelled(LEASE_LOST)


def splitting(
    kind: str,
    then: str | FollowUp | None,
    queue: str | None,
    max_attempts: int | None,
    timeout: timedelta | None,
) -> tuple[ChunkWork, FollowUp | None]:
    """What the arguments of `JobContext.split` mean."""
    name, version = parse_known(kind)
    work = ChunkWork(name, version, queue, max_attempts, timeout)
    return work, FollowUp(then) if isinstance(then, str) else then
