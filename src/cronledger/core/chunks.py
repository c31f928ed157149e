"""Chunks: the parts into which a job splits its work, and how far a set of them has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

NAME_BYTES_MAX = 200
FOLLOW_UP = "then"
MARK = "#"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a job's work, by a name that is the same in every attempt of that job.

    `tenant` None is the job's; `run_at` (aware): not before, None is now.
    """

    name: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    tenant: str | None = None
    run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChunkWork:
    """What the chunks of one split have in common; None is what their queue says, and of `queue`
    that of the job."""

    kind: str
    schema_version: int = 1
    queue: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The job that comes when all chunks of a set are completed.

    `kind` may end with a version of its payload (`report@2`); `queue` None is that of the job that
    split.
    """

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    queue: str | None = None


@dataclass(frozen=True, slots=True)
class SplitSoFar:
    """What earlier attempts have done: whether they sealed, and the chunk that they added last."""

    sealed: bool = False
    last: Chunk | None = None


@dataclass(frozen=True, slots=True)
class ChunkSet:
    """A row of the view `cronledger.chunk_sets`; `id` is that of the job that splits, `then_id`
    that of the follow-up."""

    id: int
    key: str
    state: str
    total: int
    completed: int
    dead: int
    cancelled: int
    unsettled: int
    created_at: datetime
    sealed_at: datetime | None
    finished_at: datetime | None
    then_kind: str | None
    then_id: int | None


@dataclass(frozen=True, slots=True)
class ChunkCount:
    """How many chunks of a set are in a state; `oldest` is since when the first of them waits, or
    when it was made."""

    state: str
    count: int
    oldest: datetime


def check_name(name: str) -> None:
    """Raises ValueError for what names no chunk."""
    if not 1 <= len(name.encode()) <= NAME_BYTES_MAX:
        raise ValueError(f"{name!r} names no chunk; use 1 to {NAME_BYTES_MAX} bytes")
    if MARK in name or name == FOLLOW_UP:
        raise ValueError(f"{name!r} names no chunk; leave out {MARK!r}, and {FOLLOW_UP!r} is taken")


def parent_and_name(key: str) -> tuple[str, str] | None:
    """The key of the job that split and the chunk's name; None for a key that is no chunk's."""
    parent, mark, name = key.rpartition(MARK)
    return (parent, name) if mark and parent and name else None
