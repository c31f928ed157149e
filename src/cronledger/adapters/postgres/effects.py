"""What handlers write under their leases in PostgreSQL, on any thread: receipts, and chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg

from cronledger.adapters.postgres.chunks import PostgresSplits
from cronledger.adapters.postgres.queue import in_seconds
from cronledger.adapters.postgres.session import Session
from cronledger.core.lifecycle import Lease, Timing
from cronledger.core.receipts import Begun, Decision

_COMPLETE = """
    select count(*) from cronledger.complete(%s::bigint[], %s::bigint[], %s::float8[], %s::float8[])
"""


class PostgresEffects(PostgresSplits):
    """Implements `ports.Effects`: receipts and chunks on one session behind a lock, each
    transaction on a connection of its own, which `connect` makes."""

    def __init__(self, session: Session, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        super().__init__(session)
        self._connect = connect

    def begin(self, lease: Lease, name: str, fingerprint: str, window: timedelta | None) -> Begun:
        """Write down that the effect is about to be tried."""
        parameters = {
            "job_id": lease.job_id,
            "token": lease.token,
            "name": name,
            "fingerprint": fingerprint,
            "window": window,
        }
        with self._using:
            (row,) = self._session.run("effect_begin", parameters)
        return Begun(Decision(row["decision"]), row["idempotency_key"], row["result"])

    def commit(self, lease: Lease, name: str, result: Any) -> bool:
        """Write down that it has happened; False if the lease is not ours any more."""
        parameters = {
            "job_id": lease.job_id,
            "token": lease.token,
            "name": name,
            "result": json.dumps(result),
        }
        with self._using:
            (row,) = self._session.run("effect_commit", parameters)
        return bool(row["committed"])

    @contextmanager
    def completing(self, lease: Lease) -> Iterator[tuple[Any, Callable[[Timing], bool]]]:
        """A connection in a transaction, and what completes the job in it and commits both."""
        with self._connect() as connection:

            def complete(timing: Timing) -> bool:
                given = ([lease.job_id], [lease.token])
                spans = ([in_seconds(timing.started)], [in_seconds(timing.ran)])
                row = connection.execute(_COMPLETE, given + spans).fetchone()
                if row is None or row[0] != 1:
                    connection.rollback()
                    return False
                connection.commit()
                return True

            yield connection, complete
            connection.rollback()
