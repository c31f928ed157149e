"""What a reconcile reads: recorded keys off the index alone, orphans off what is open, and nothing
outside of its window."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from cronledger.adapters.postgres.session import statement
from ledgers import time

SCHEDULES, HOURS = 20, 2000
START = time("2026-01-01T00:00")
# A history that is noted, and of each schedule five keys whose jobs go on.
FILL = """
    insert into cronledger.occurrence
           (logical_time, recorded_at, enqueued_at, job_id, claimed_at, finished_at, schedule_id,
            version, utc_offset, collapsed, fold, moved, via, final_state)
    select at, at, at, 1, at, case when n < %(hours)s - 5 then at end, id, 1, 0, 1, false, false,
           'tick', case when n < %(hours)s - 5 then 'completed' end
      from generate_series(0, %(hours)s - 1) n, generate_series(1, %(schedules)s) id,
           lateral (select %(start)s + n * interval '1 hour' as at) x
"""


@pytest.fixture
def filled(any_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(any_database, autocommit=True) as connection:
        connection.execute(FILL, {"start": START, "hours": HOURS, "schedules": SCHEDULES})
        connection.execute("vacuum (analyze) cronledger.occurrence")
        yield connection


def steps(connection: psycopg.Connection[Any], name: str, hours: int) -> list[dict[str, Any]]:
    """Every step that was taken for the last so many hours of every schedule."""
    end = START + timedelta(hours=HOURS)
    starts: list[datetime] = [end - timedelta(hours=hours)] * SCHEDULES
    parameters = {"starts": starts, "ends": [end] * SCHEDULES}
    row = connection.execute(
        b"explain (analyze, buffers, timing off, format json) " + statement(name).as_bytes(None),
        parameters | {"ids": list(range(1, SCHEDULES + 1))},
    ).fetchone()
    assert row is not None
    return _walk(row[0][0]["Plan"])


def _walk(step: dict[str, Any]) -> list[dict[str, Any]]:
    return [step, *(below for child in step.get("Plans", ()) for below in _walk(child))]


def read(found: list[dict[str, Any]], relation: str) -> list[dict[str, Any]]:
    return [step for step in found if step.get("Relation Name") == relation]


def test_recorded_keys_come_off_the_index_alone(filled: psycopg.Connection[Any]) -> None:
    (scan,) = read(steps(filled, "packed", HOURS), "occurrence")
    assert scan["Node Type"] == "Index Only Scan"
    assert scan["Heap Fetches"] == 0


def test_a_window_costs_what_lies_in_it(filled: psycopg.Connection[Any]) -> None:
    """Of a history eighty times as long as the window only the window is touched."""
    (scan,) = read(steps(filled, "packed", 25), "occurrence")
    assert scan["Actual Rows"] * scan["Actual Loops"] == SCHEDULES * 25
    assert scan["Shared Hit Blocks"] + scan["Shared Read Blocks"] <= SCHEDULES * 5


def test_orphans_are_sought_among_what_is_open(filled: psycopg.Connection[Any]) -> None:
    found = read(steps(filled, "orphaned", HOURS), "occurrence")
    assert {step["Index Name"] for step in found} == {"occurrence_open"}
    assert sum(step["Actual Rows"] * step["Actual Loops"] for step in found) == SCHEDULES * 5
