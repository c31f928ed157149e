"""The lease protocol and the jobs view, as SQL functions and one view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta

from psycopg.rows import DictRow

from cronledger.adapters.postgres.floor import Floor
from cronledger.adapters.postgres.session import Session
from cronledger.core.audit import Audit
from cronledger.core.doctor import Ailment
from cronledger.core.lifecycle import (
    UNTIMED,
    Failure,
    Job,
    JobState,
    Lease,
    QueueStanding,
    Settlement,
    Timing,
)
from cronledger.core.receipts import Receipt
from cronledger.ports import Chosen


class PostgresQueue:
    """Implements `ports.LeasedQueue` and `ports.Jobs` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._floor = Floor()

    def claim(
        self,
        queues: Sequence[str],
        kinds: Sequence[str],
        limit: int,
        worker: str,
        *,
        alone: bool = False,
    ) -> list[Lease]:
        """Lease up to `limit` eligible jobs; `alone` says that the worker runs nothing now."""
        leases = self._session.build(
            "claim",
            Lease,
            {
                "queues": list(queues),
                "kinds": list(kinds),
                "limit": limit,
                "worker": worker,
                "alone": alone,
                "floor": self._floor.of(queues),
            },
        )
        self._floor.claimed(queues, leases, limit)
        return leases

    def extend(self, leases: Sequence[Lease]) -> Mapping[int, bool]:
        """Extend; the tokens still ours, and whether somebody asked that attempt to end."""
        tokens, rows = self._fenced("extend", leases)
        return {tokens[row["job_id"]]: row["cancel_requested"] for row in rows}

    def complete(self, leases: Sequence[Lease], timings: Sequence[Timing] = ()) -> frozenset[int]:
        """Complete; returns the tokens that were settled."""
        tokens = {lease.job_id: lease.token for lease in leases}
        known = {lease.job_id: timing for lease, timing in zip(leases, timings, strict=False)}
        asked = {
            "job_ids": list(tokens),
            "tokens": list(tokens.values()),
            "started": [in_seconds(timing.started) for timing in known.values()] or None,
            "ran": [in_seconds(timing.ran) for timing in known.values()] or None,
        }
        (row,) = self._session.run("complete", asked)
        return frozenset(tokens[job_id] for job_id in row["job_ids"])

    def fail(self, lease: Lease, failure: Failure, timing: Timing = UNTIMED) -> Settlement:
        """Settle as failed."""
        rows = self._session.run(
            "fail",
            {
                "job_id": lease.job_id,
                "token": lease.token,
                "error_class": failure.error_class,
                # PostgreSQL's text has no NUL; an error message may.
                "error": failure.message.replace("\x00", "\\0"),
                "retryable": failure.retryable,
                "retry_after": failure.retry_after,
                "started": in_seconds(timing.started),
                "ran": in_seconds(timing.ran),
            },
        )
        return Settlement(rows[0]["settlement"])

    def release(self, leases: Sequence[Lease]) -> frozenset[int]:
        """Hand back, uncharged; returns the tokens that were ours."""
        tokens, rows = self._fenced("release", leases)
        return frozenset(tokens[row["job_id"]] for row in rows)

    def rescue(self, limit: int) -> int:
        """Take back up to `limit` expired leases."""
        return int(self._session.run("rescue", {"limit": limit})[0]["rescued"])

    def jobs(self, chosen: Chosen, limit: int) -> list[Job]:
        """The newest first."""
        rows = self._session.run("jobs", {**asdict(chosen), "limit": limit})
        return [job_of(row) for row in rows]

    def job(self, job_id: int) -> Job | None:
        """One job by its id."""
        rows = self._session.run("job", {"id": job_id})
        if not rows:
            return None
        (row,) = rows
        if row.pop("may_read_output"):
            for written in self._session.run("output", {"id": job_id}):
                row |= written
        return job_of(row)

    def job_with(self, key: str) -> int | None:
        """The id of the newest job that has this key."""
        rows = self._session.run("job_by_key", {"key": key})
        return int(rows[0]["job_id"]) if rows else None

    def keep_output(self, job_id: int, token: int, exit_status: int, text: str) -> bool:
        """Keep the output of an attempt; False if the lease is not ours any more."""
        parameters = {"job_id": job_id, "token": token, "exit_status": exit_status, "text": text}
        return bool(self._session.run("keep_output", parameters)[0]["kept"])

    def queues(self) -> list[QueueStanding]:
        """Every queue, by name."""
        return [QueueStanding(**row) for row in self._session.run("queues")]

    def audits(
        self, subject: str | None, action: str | None, actor: str | None, limit: int
    ) -> list[Audit]:
        """Manual changes, the newest first."""
        asked = {"subject": subject, "action": action, "actor": actor, "limit": limit}
        return [Audit(**row) for row in self._session.run("audits", asked)]

    def receipts(self, key: str | None, state: str | None, limit: int) -> list[Receipt]:
        """Receipts of effects, the newest first."""
        asked = {"scope": key, "state": state, "limit": limit}
        return [Receipt(**row) for row in self._session.run("effects", asked)]

    def ailments(self) -> list[Ailment]:
        """What is wrong with the database of the ledger."""
        return [Ailment(**row) for row in self._session.run("doctor", {})]

    def _fenced(self, name: str, leases: Sequence[Lease]) -> tuple[dict[int, int], list[DictRow]]:
        """The token of each job, and the rows of those whose lease is still ours."""
        tokens = {lease.job_id: lease.token for lease in leases}
        rows = self._session.run(name, {"job_ids": list(tokens), "tokens": list(tokens.values())})
        return tokens, rows


def in_seconds(span: timedelta | None) -> float | None:
    """As the functions of the protocol take it."""
    return None if span is None else span.total_seconds()


def job_of(row: dict[str, object]) -> Job:
    """A row with the columns of the view."""
    state = row.pop("state")
    return Job(state=JobState(str(state)), **row)  # type: ignore[arg-type]  # columns match by test
