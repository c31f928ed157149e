"""A queue to test on: jobs made through the real enqueue, counters, and sessions at other times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from cronledger.adapters.postgres.ledger import PostgresLedger
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expand import Occurrence
from cronledger.core.expected import Owed
from cronledger.core.lifecycle import Lease
from cronledger.core.schedule import JobSpec, QueueSpec
from cronledger.ports import Enqueue, Noting

EPOCH = datetime(2026, 8, 1, tzinfo=UTC)
# What waits or is leased carries copies of what its job says; wrong ones make measurements lie.
WRONG_COPIES = """
select a.job_id
  from (select job_id, due_at, for_schedule from cronledger.ready
         union all select job_id, due_at, for_schedule from cronledger.deferred
         union all select job_id, due_at, for_schedule from cronledger.lease) a
  left join cronledger.job j on j.id = a.job_id
 where (coalesce(j.logical_time, j.run_at), j.schedule_id)
       is distinct from (a.due_at, a.for_schedule)
"""
SessionFor = Callable[..., Session]


class Workbench:
    """One database, one schedule, and a session of its own."""

    def __init__(self, dsn: str, session_for: SessionFor) -> None:
        self.dsn = dsn
        self.session = session_for(dsn)
        self.queue = PostgresQueue(self.session)
        self._session_for = session_for
        self._ledger = PostgresLedger(self.session)
        self._minutes = count()
        self._schedule = int(
            self.session.script(
                "insert into cronledger.schedule (name, loaded_at, decided_to)"
                " values ('bench', cronledger.now(), cronledger.now()) returning id"
            )[0]["id"]
        )
        self.line()

    def line(self, name: str = "default", **settings: Any) -> None:
        """Make a queue of that name, or change it to these settings."""
        self._ledger.note([], Noting((QueueSpec(name, **settings),), PinnedZones()))

    def enqueue(self, kind: str = "work", jobs: int = 1, **spec: Any) -> list[int]:
        """Enqueue jobs with the keys that come next; returns their ids, oldest key first."""
        epochs = [
            int((EPOCH + timedelta(minutes=next(self._minutes))).timestamp()) for _ in range(jobs)
        ]
        owed = tuple(Owed(1, Occurrence(epoch, 0, 0, False, 1)) for epoch in epochs)
        batch = [Enqueue(self._schedule, JobSpec(kind, **spec), owed)]
        assert self._ledger.enqueue_once(batch, "tick") == {self._schedule: epochs}
        rows = self.session.script(
            "select job_id from cronledger.occurrence where logical_time = any (%(times)s)"
            " order by logical_time",
            {"times": [datetime.fromtimestamp(epoch, UTC) for epoch in epochs]},
        )
        return [row["job_id"] for row in rows]

    def another(self, later: timedelta | None = None) -> PostgresQueue:
        """The queue through another session, whose database clock stands `later` from now."""
        return PostgresQueue(self.session_at(later))

    def session_at(self, later: timedelta | None = None) -> Session:
        """Another session; with `later` its clock stands still there."""
        if later is None:
            return self._session_for(self.dsn)
        return self._session_for(self.dsn, test_now=(self._ledger.now() + later).isoformat())

    def claim(self, limit: int = 1, worker: str = "a", *kinds: str) -> list[Lease]:
        """Claim from the default queue."""
        return self.queue.claim(["default"], kinds or ["work"], limit, worker)

    def states(self, ids: Sequence[int]) -> list[str]:
        """Where the jobs stand, in the order asked."""
        found = [self.queue.job(id_) for id_ in ids]
        return [job.state if job else "gone" for job in found]

    def counted(self, metric: str) -> Mapping[tuple[str, ...], int]:
        """A durable counter by its labels, folded or not."""
        rows = self.session.script(
            "select labels, sum(n)::bigint as n from"
            " (table cronledger.stat union all table cronledger.stat_delta) x"
            " where metric = %(metric)s group by labels",
            {"metric": metric},
        )
        return {tuple(row["labels"]): row["n"] for row in rows}

    def rows(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """The answer to a query of the test's own."""
        return self.session.script(text, parameters or None)
