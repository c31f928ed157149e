"""Chunks in PostgreSQL: how handlers split, and what operators see and do of a set."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from cronledger.adapters.postgres.controls import refusals
from cronledger.adapters.postgres.queue import job_of
from cronledger.adapters.postgres.session import Session
from cronledger.core.audit import By
from cronledger.core.chunks import Chunk, ChunkCount, ChunkSet, ChunkWork, FollowUp, SplitSoFar
from cronledger.core.lifecycle import Job, Lease, parse_known
from cronledger.errors import ConfigError, RefusedError, StoreError

_WRONG_STATE = "55000"


class PostgresSplits:
    """Implements `ports.Splits` on one session behind a lock."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._using = threading.Lock()

    def split_so_far(self, lease: Lease) -> SplitSoFar:
        """What earlier attempts of the job have done."""
        with self._using:
            rows = self._session.run("split_so_far", {"job_id": lease.job_id, "token": lease.token})
        if not rows:
            return SplitSoFar()
        sealed = rows[0].pop("sealed")
        return SplitSoFar(sealed, None if rows[0]["name"] is None else Chunk(**rows[0]))

    def split(self, lease: Lease, work: ChunkWork, chunks: Sequence[Chunk]) -> int | None:
        """Add chunks, once for each name; returns how many were new, None if the lease is lost."""
        added: int | None = self._ask(
            "split",
            lease,
            kind=work.kind,
            names=[chunk.name for chunk in chunks],
            payloads=[json.dumps(chunk.payload) for chunk in chunks],
            run_ats=[chunk.run_at for chunk in chunks],
            tenants=[chunk.tenant for chunk in chunks],
            queue=work.queue,
            max_attempts=work.max_attempts,
            timeout=work.timeout,
            schema_version=work.schema_version,
        )
        return added

    def seal(self, lease: Lease, then: FollowUp | None) -> bool:
        """No chunk comes any more; False if the lease is lost."""
        kind, version = parse_known(then.kind) if then else (None, 1)
        return bool(
            self._ask(
                "seal",
                lease,
                kind=kind,
                payload=json.dumps(then.payload if then else {}),
                queue=then.queue if then else None,
                schema_version=version,
            )
        )

    def _ask(self, statement: str, lease: Lease, **given: Any) -> Any:
        parameters = {"job_id": lease.job_id, "token": lease.token, **given}
        try:
            with self._using:
                (row,) = self._session.run(statement, parameters)
        except StoreError as error:
            if error.sqlstate == _WRONG_STATE:
                raise RefusedError(str(error).removeprefix("database: ")) from error
            raise
        return next(iter(row.values()))


class PostgresChunkSets:
    """Implements `ports.ChunkSets` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def chunk_set(self, job_id: int) -> ChunkSet:
        """The set of a job."""
        rows = self._session.run("chunk_set", {"id": job_id})
        if not rows:
            raise ConfigError(f"job {job_id} has no chunks; `jobs show {job_id}` says what it is")
        return ChunkSet(**rows[0])

    def chunk_job(self, job_id: int, name: str) -> int | None:
        """The job of a chunk by its name, or of the follow-up."""
        rows = self._session.run("chunk_job", {"id": job_id, "name": name})
        return rows[0]["job_id"] if rows else None

    def chunk_counts(self, job_id: int) -> list[ChunkCount]:
        """How many are in which state."""
        return [ChunkCount(**row) for row in self._session.run("chunk_counts", {"id": job_id})]

    def failing_chunks(self, job_id: int, limit: int) -> list[Job]:
        """Dead ones and retrying ones, the oldest first."""
        rows = self._session.run("failing_chunks", {"id": job_id, "limit": limit})
        return [job_of(row) for row in rows]

    def cancel_chunks(self, job_id: int, by: By) -> int:
        """Cancel those that wait; returns how many."""
        given = {"id": job_id, "actor": by.actor, "reason": by.reason}
        with refusals():
            (row,) = self._session.run("cancel_chunks", given)
        return int(row["n"])
