"""Jobs that no schedule owes, enqueued in the caller's own transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import dict_row

from cronledger.adapters.carrier import current_headers
from cronledger.adapters.postgres.session import statement
from cronledger.core.schedule import JobSpec


class Produced(NamedTuple):
    """The job that has the key; `inserted` is False if it was there before."""

    job_id: int
    inserted: bool


def enqueue_once(
    connection: psycopg.Connection[Any],
    key: str,
    job: JobSpec,
    run_at: datetime | None = None,
    headers: Mapping[str, Any] | None = None,
) -> Produced:
    """Enqueue a job on `connection`, once for each key of its queue, and commit nothing.

    The job is there when the caller's transaction commits, and not if it does not. A key that
    exists gives its job, also after that has ended. `run_at` (aware): not before; None is now.
    `headers` go with the job and are no part of its payload; without a `traceparent` among them
    they get that of the current span, if the program is traced with OpenTelemetry.
    Raises psycopg.Error, for a queue that does not exist among others.
    """
    carried = dict(headers or {})
    if "traceparent" not in carried:
        carried |= current_headers()
    parameters = {
        "queue": job.queue,
        "kind": job.kind,
        "keys": [key],
        "payloads": [json.dumps(job.payload)],
        "run_ats": [run_at],
        "priority": job.priority,
        "ordering_keys": [job.ordering_key],
        "max_attempts": job.max_attempts,
        "timeout": job.timeout,
        "schema_version": job.schema_version,
        "tenants": [job.tenant],
        "headers": [json.dumps(carried) if carried else None],
    }
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("enqueue_once"), parameters).fetchone()
    assert row is not None
    return Produced(row["job_id"], row["inserted"])
