"""How the server carries out the protocol over a large queue: by its indexes, with generic plans.

Read off the server's own account of the statements inside of the functions (auto_explain).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from cronledger.adapters.postgres.session import statement

HOT = {"ready", "deferred", "lease"}
SPYING = """
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_analyze = on;
    set auto_explain.log_timing = off;
    set auto_explain.log_buffers = on;
    set auto_explain.log_format = json;
    set client_min_messages = log;
    set plan_cache_mode = force_generic_plan
"""
# A queue with so many waiting, so many deferred, so many ended; a few leased.
FILL = """
    insert into cronledger.ready
           (job_id, eligible_at, due_at, queue_id, priority, attempt, max_attempts, kind)
    select n, now() - interval '1 hour' + n * interval '1 ms', now(), q.id, 0, 0, 9, 'work'
      from generate_series(1, %(n)s) n, cronledger.queue q;
    insert into cronledger.deferred
           (job_id, eligible_at, due_at, queue_id, priority, attempt, max_attempts, kind)
    select %(n)s + n, now() + n * interval '1 s', now(), q.id, 0, 0, 9, 'work'
      from generate_series(1, %(n)s) n, cronledger.queue q;
    insert into cronledger.outcome
           (job_id, claimed_at, first_claimed_at, finished_at, queue_id, attempt, state)
    select 3 * %(n)s + n, now(), now(), now(), q.id, 1, 'completed'
      from generate_series(1, %(n)s) n, cronledger.queue q;
    insert into cronledger.job (id, run_at, created_at, queue_id, max_attempts, timeout, key, kind)
    select n, now(), now(), q.id, 9, '1 min', 'k' || n, 'work'
      from generate_series(1, least(%(n)s, 50000)) n, cronledger.queue q;
    insert into cronledger.lease
           (job_id, token, eligible_at, due_at, claimed_at, first_claimed_at, expires_at, queue_id,
            priority, attempt, max_attempts, kind, worker)
    select 2 * %(n)s + n, -n, now(), now(), now(), now(), now() + interval '1 min', q.id,
           0, 1, 9, 'work', 'w'
      from generate_series(1, 2000) n, cronledger.queue q;
    analyze cronledger.ready, cronledger.deferred, cronledger.outcome, cronledger.job,
            cronledger.lease
"""


class Spy:
    """A connection that hears how the server carried out what it was sent."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._connection.execute(SPYING)
        self._plans: list[dict[str, Any]] = []
        self._connection.add_notice_handler(self._hear)

    def _hear(self, notice: psycopg.errors.Diagnostic) -> None:
        said = notice.message_primary or ""
        if "plan:" in said:
            self._plans.append(json.loads(said.partition("plan:")[2]))

    def steps(self, text: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Every step of the plans of what a statement ran, once plans were cached."""
        for _ in range(3):
            self._plans.clear()
            self._connection.execute(text.encode(), parameters)
        return [step for plan in self._plans for step in _walk(plan["Plan"])]

    def close(self) -> None:
        self._connection.close()


def _walk(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _walk(inner)


def rows_looked_at(steps: list[dict[str, Any]], of: set[str]) -> int:
    """How many rows of these tables the steps read, wanted or not."""
    return sum(
        round((step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"])
        for step in steps
        if step.get("Relation Name") in of and "Scan" in step["Node Type"]
    )


def scanned_whole(steps: list[dict[str, Any]], of: set[str]) -> set[str]:
    return {
        step["Relation Name"]
        for step in steps
        if step["Node Type"] in ("Seq Scan", "Bitmap Heap Scan")
        and step["Relation Name"] in of
        and step["Actual Loops"]
    }


@pytest.fixture(scope="module", params=[50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def filled(request: pytest.FixtureRequest, module_database: str) -> str:
    """A large queue, made once."""
    with psycopg.connect(module_database, autocommit=True) as connection:
        connection.execute("delete from cronledger.queue")
        connection.execute("insert into cronledger.queue (name) values ('default')")
        connection.execute("alter table cronledger.ready set (autovacuum_enabled = off)")
        for table in ("ready", "deferred", "outcome", "job", "lease"):
            connection.execute(f"truncate cronledger.{table}".encode())
        psycopg.ClientCursor(connection).execute(FILL, {"n": request.param})
    return module_database


@pytest.fixture
def spy(filled: str) -> Iterator[Spy]:
    made = Spy(filled)
    yield made
    made.close()


def test_a_claim_reads_what_it_takes(spy: Spy) -> None:
    steps = spy.steps("select count(*) from cronledger.claim('{default}', '{work}', 100, 'w')")
    assert scanned_whole(steps, HOT | {"job"}) == set()
    assert not [step for step in steps if step["Node Type"] == "Sort" and step["Actual Rows"] > 100]
    # Picked, locked, taken out; and what two claims before have taken and vacuum has not.
    assert rows_looked_at(steps, {"ready"}) <= 500
    assert rows_looked_at(steps, {"job_default"}) <= 100


def test_q060_a_floor_spares_a_claim_what_a_long_transaction_keeps(filled: str, spy: Spy) -> None:
    claim = "cronledger.claim('{default}', '{work}', %s, 'w', false, %s)"
    call = f"select count(*), max(rank) from {claim}"
    with psycopg.connect(filled) as reader, psycopg.connect(filled, autocommit=True) as taker:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from cronledger.queue")  # from now on no dead row can go
        for _ in range(20):
            row = taker.execute(call.encode(), (1000, None)).fetchone()
        assert row is not None
        blocks = {
            floor: sum(
                step["Shared Hit Blocks"] + step["Shared Read Blocks"]
                for step in spy.steps(call % ("10", f"{floor}::timestamp"))
                if step.get("Index Name") == "ready_claim"
            )
            for floor in ("null", f"'{row[1]}'")
        }
    from_the_start, from_the_floor = blocks.values()
    assert from_the_start > 100  # pages that hold nothing but what was taken
    assert from_the_floor < from_the_start / 5


def test_a_promotion_reads_what_is_due(spy: Spy) -> None:
    spy.steps(
        "update cronledger.deferred set eligible_at = now()"
        " where job_id in (select job_id from cronledger.deferred limit 50)"
    )
    steps = spy.steps("select cronledger.promote(q.id, 1000) from cronledger.queue q")
    assert scanned_whole(steps, HOT) == set()
    assert rows_looked_at(steps, {"deferred"}) <= 400


def test_an_extension_reads_its_leases(spy: Spy) -> None:
    steps = spy.steps(
        "select count(*) from cronledger.extend("
        " array(select job_id from cronledger.lease order by 1 limit 10),"
        " array(select token from cronledger.lease order by job_id limit 10))"
    )
    updates = [step for step in steps if "token = ANY" in step.get("Filter", "")]
    assert updates
    assert all(step["Node Type"].startswith("Index") for step in updates)


def test_a_rescue_reads_leases_and_nothing_else(spy: Spy) -> None:
    spy.steps(
        "update cronledger.lease set claimed_at = now() - interval '1 day', expires_at = now()"
        " where job_id in (select job_id from cronledger.lease limit 50)"
    )
    steps = spy.steps("select cronledger.rescue(500)")
    assert scanned_whole(steps, {"ready", "deferred", "job_default", "outcome_default"}) == set()


def test_a_completion_reads_its_leases(spy: Spy) -> None:
    steps = spy.steps(
        "with c as (select * from cronledger.claim('{default}', '{work}', 50, 'w'))"
        " select count(*) from cronledger.complete((select array_agg(job_id) from c),"
        " (select array_agg(token) from c))"
    )
    assert scanned_whole(steps, {"ready", "deferred", "outcome_default", "job_default"}) == set()


def test_a_snapshot_does_not_read_history(spy: Spy) -> None:
    text = statement("snapshot_queues").as_string().replace("%(now)s", "now()")
    steps = spy.steps(text)
    assert {step["Relation Name"] for step in steps if "Relation Name" in step} & HOT == HOT
    assert not [step for step in steps if str(step.get("Relation Name", "")).startswith("outcome")]


SETS = """
    truncate cronledger.chunk, cronledger.chunk_set;
    insert into cronledger.chunk_set (id, key, priority, created_at, total)
    select l.job_id, 'k', 0, now(), 50000 from cronledger.lease l order by 1 desc limit 1;
    insert into cronledger.chunk (job_id, set_id, name)
    select -n, s.id, 'c' || n from generate_series(1, 50000) n, cronledger.chunk_set s;
    insert into cronledger.job (id, run_at, created_at, queue_id, max_attempts, timeout, key, kind)
    select -n, now(), now(), q.id, 9, interval '1 min', 'k#c' || n, 'part'
      from generate_series(1, 50000) n, cronledger.queue q
     union all
    select s.id, now(), now(), q.id, 9, interval '1 min', 'k', 'split'
      from cronledger.chunk_set s, cronledger.queue q;
    update cronledger.lease set expires_at = now() + interval '1 hour'
     where job_id in (select id from cronledger.chunk_set);
    analyze cronledger.chunk, cronledger.chunk_set, cronledger.job
"""


def test_a_settlement_finds_its_chunks_and_a_second_attempt_its_names(
    spy: Spy, filled: str
) -> None:
    with psycopg.connect(filled, autocommit=True) as connection:
        connection.execute(SETS.encode())
    own = {"chunk", "chunk_set"}
    steps = spy.steps(
        "select count(*) from cronledger.complete("
        " array(select job_id from cronledger.lease order by 1 limit 100),"
        " array(select token from cronledger.lease order by job_id limit 100))"
    )
    assert scanned_whole(steps, own) == set()
    assert rows_looked_at(steps, own) == 0
    again = spy.steps(
        "select cronledger.split(s.id, l.token, 'part', array(select 'c' || n from"
        " generate_series(1, 100) n), array_fill('{}'::jsonb, array[100]))"
        " from cronledger.chunk_set s join cronledger.lease l on l.job_id = s.id"
    )
    assert scanned_whole(again, {"chunk", "job_default"}) == set()
    assert rows_looked_at(again, {"chunk"}) <= 200
    assert rows_looked_at(again, {"job_default"}) <= 200
