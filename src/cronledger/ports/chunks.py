"""What the worker and the operator need of sets of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cronledger.core.audit import By
from cronledger.core.chunks import Chunk, ChunkCount, ChunkSet, ChunkWork, FollowUp, SplitSoFar
from cronledger.core.lifecycle import Job, Lease


class Splits(Protocol):
    """How a job splits, fenced by its lease. Safe from any thread.

    Raises RefusedError where an earlier attempt has said something else.
    """

    def split_so_far(self, lease: Lease) -> SplitSoFar:
        """What earlier attempts of the job have done."""

    def split(self, lease: Lease, work: ChunkWork, chunks: Sequence[Chunk]) -> int | None:
        """Add chunks, once for each name; returns how many were new, None if the lease is lost."""

    def seal(self, lease: Lease, then: FollowUp | None) -> bool:
        """No chunk comes any more; False if the lease is lost."""


class ChunkSets(Protocol):
    """Sets of chunks as people look at them, and what they do to one.

    Raises ConfigError where a job has no chunks.
    """

    def chunk_set(self, job_id: int) -> ChunkSet:
        """The set of a job."""

    def chunk_job(self, job_id: int, name: str) -> int | None:
        """The job of a chunk by its name, or of the follow-up (`then`)."""

    def chunk_counts(self, job_id: int) -> list[ChunkCount]:
        """How many are in which state; without those that the retention has let go."""

    def failing_chunks(self, job_id: int, limit: int) -> list[Job]:
        """Dead ones and retrying ones, the oldest first."""

    def cancel_chunks(self, job_id: int, by: By) -> int:
        """Cancel those that wait; returns how many. Those that run go on."""
