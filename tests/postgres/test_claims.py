"""Which jobs a claim takes: tenants in turn, priorities that age, known versions, suspects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import psycopg
import pytest

from cronledger.adapters.postgres.floor import FORGOTTEN_AFTER, Floor
from cronledger.adapters.postgres.produce import enqueue_once
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.core.lifecycle import Failure, Lease
from cronledger.core.schedule import JobSpec
from cronledger.errors import StoreError
from workbench import SessionFor, Workbench

PAST_THE_LEASE = timedelta(seconds=61)


@pytest.fixture
def bench(any_database: str, session_for: SessionFor) -> Workbench:
    return Workbench(any_database, session_for)


def tenants(leases: Sequence[Lease]) -> Counter[str | None]:
    return Counter(lease.tenant for lease in leases)


def expire_twice(bench: Workbench) -> None:
    """Let the lease of the only job end twice, with nobody saying why."""
    for _ in range(2):
        bench.rows("update cronledger.deferred set eligible_at = now() returning 1")
        (lease,) = bench.claim()
        bench.rows(
            "update cronledger.lease set claimed_at = claimed_at - interval '1 day',"
            " expires_at = cronledger.now() where job_id = %(id)s returning 1",
            id=lease.job_id,
        )
        assert bench.queue.rescue(1) == 1
    bench.rows("update cronledger.deferred set eligible_at = now() returning 1")


def test_q130_a_burst_of_one_tenant_does_not_hold_up_another(bench: Workbench) -> None:
    bench.enqueue(jobs=1000, tenant="a")
    bench.enqueue(tenant="b")
    first = bench.claim(50)
    assert tenants(first) == {"a": 49, "b": 1}
    assert tenants(bench.claim(50)) == {"a": 50}  # a lone tenant fills the batch


def test_no_tenant_is_one_more_tenant(bench: Workbench) -> None:
    bench.enqueue(jobs=100)
    bench.enqueue(jobs=100, tenant="a")
    bench.enqueue(jobs=100, tenant="b")
    assert tenants(bench.claim(30)) == {"a": 10, "b": 10, None: 10}


def test_claims_smaller_than_the_number_of_tenants_reach_them_all(bench: Workbench) -> None:
    names = [f"t{n}" for n in range(20)]
    for name in names:
        bench.enqueue(jobs=5, tenant=name)
    seen: set[str | None] = set()
    for _ in range(100):
        seen |= set(tenants(bench.claim(1)))
    assert seen == set(names)  # all hundred jobs, and nothing is left
    assert bench.claim(1) == []


def test_within_a_tenant_the_oldest_comes_first(bench: Workbench) -> None:
    ids = bench.enqueue(jobs=4, tenant="a")
    assert [bench.claim()[0].job_id for _ in ids] == ids


def test_a_tenant_has_no_more_leased_than_its_queue_allows(bench: Workbench) -> None:
    bench.line(tenant_limit=3)
    bench.enqueue(jobs=50, tenant="a")
    bench.enqueue(jobs=50, tenant="b")
    bench.enqueue(jobs=4)
    queues = [bench.another() for _ in range(6)]
    together = Barrier(len(queues), timeout=30)

    def claim(queue: PostgresQueue) -> list[Lease]:
        together.wait()
        return [lease for _ in range(4) for lease in queue.claim(["default"], ["work"], 5, "w")]

    with ThreadPoolExecutor(len(queues)) as threads:
        leases = [lease for share in threads.map(claim, queues) for lease in share]
    assert tenants(leases) == {"a": 3, "b": 3, None: 4}
    one = next(lease for lease in leases if lease.tenant == "a")
    assert bench.queue.complete([one]) == {one.token}
    assert tenants(bench.claim(50)) == {"a": 1}


def test_q131_a_low_priority_is_overtaken_for_a_minute_a_step(bench: Workbench) -> None:
    (low,) = bench.enqueue(priority=2)
    (high,) = bench.enqueue(priority=0)
    assert bench.claim()[0].job_id == high
    bench.rows(
        "update cronledger.ready set eligible_at = eligible_at - interval '121 s' returning 1"
    )
    later = bench.enqueue(priority=0)
    # Another claimer, who has no floor from before.
    leases = bench.another().claim(["default"], ["work"], 2, "b")
    assert [lease.job_id for lease in leases] == [low, *later]


def test_q093_a_version_that_no_worker_knows_is_left_uncharged(bench: Workbench) -> None:
    (new,) = bench.enqueue(schema_version=2)
    (old,) = bench.enqueue()
    assert [lease.job_id for lease in bench.claim(9)] == [old]
    assert bench.claim(9, "a", "work@3") == []
    job = bench.queue.job(new)
    assert job is not None
    assert (job.state, job.attempt) == ("eligible", 0)
    (lease,) = bench.claim(9, "a", "work", "work@2")
    assert (lease.job_id, lease.schema_version, lease.known_as) == (new, 2, "work@2")


def test_a_retried_job_keeps_its_version_and_tenant(bench: Workbench) -> None:
    bench.enqueue(schema_version=2, tenant="a")
    (lease,) = bench.claim(1, "a", "work@2")
    bench.queue.fail(lease, Failure("Boom", "it broke"))
    bench.rows("update cronledger.deferred set eligible_at = now() returning 1")
    (again,) = bench.claim(1, "a", "work@2")
    assert (again.attempt, again.schema_version, again.tenant) == (2, 2, "a")


def test_a_kind_cannot_look_like_a_version_of_another(bench: Workbench) -> None:
    with pytest.raises(StoreError, match="job_kind_check"):
        bench.enqueue("work@2")


def test_a_suspect_comes_by_itself_to_whoever_runs_nothing(bench: Workbench) -> None:
    (suspect,) = bench.enqueue()
    expire_twice(bench)
    bench.enqueue(jobs=5)
    assert len(bench.queue.claim(["default"], ["work"], 3, "a")) == 3  # busy: not now
    leases = bench.queue.claim(["default"], ["work"], 3, "b", alone=True)
    assert [(lease.job_id, lease.attempt, lease.alone) for lease in leases] == [(suspect, 3, True)]
    assert [lease.alone for lease in bench.queue.claim(["default"], ["work"], 9, "b")] == [
        False
    ] * 2


def test_a_suspect_that_has_waited_a_minute_goes_to_anybody(bench: Workbench) -> None:
    (suspect,) = bench.enqueue()
    expire_twice(bench)
    bench.enqueue(jobs=5)
    later = bench.another(PAST_THE_LEASE)
    leases = later.claim(["default"], ["work"], 3, "a")
    assert [lease.job_id for lease in leases] == [suspect]


def test_what_says_why_it_failed_is_no_suspect(bench: Workbench) -> None:
    bench.enqueue()
    for _ in range(3):
        (lease,) = bench.claim()
        bench.queue.fail(lease, Failure("Boom", "it broke"))
        bench.rows("update cronledger.deferred set eligible_at = now() returning 1")
    assert not bench.claim()[0].alone


def test_the_only_claimer_learns_that_it_is_not(bench: Workbench) -> None:
    bench.enqueue(jobs=2)
    ours = "select job_id from cronledger.claim_nowait('default', array['work'], 1, 'only')"
    with psycopg.connect(bench.dsn) as other:
        other.execute("select from cronledger.ready for update")
        with pytest.raises(StoreError) as refused:
            bench.session.script(ours)
        assert refused.value.sqlstate == "55P03"
    assert len(bench.session.script(ours)) == 1
    assert len(bench.session.script(ours)) == 1
    assert bench.session.script(ours) == []


def test_what_comes_in_below_the_floor_is_seen_soon(bench: Workbench) -> None:
    bench.enqueue(jobs=30)
    assert len(bench.claim(10)) == 10  # full, so the next claim begins here
    (urgent,) = bench.enqueue(priority=-5)
    assert urgent not in [lease.job_id for lease in bench.claim(10)]
    # Short: it looks again from the start.
    assert urgent in [lease.job_id for lease in bench.claim(100)]


def test_the_floor_is_forgotten_after_a_while(bench: Workbench) -> None:
    bench.enqueue(jobs=30)
    bench.claim(5)
    bench.claim(5)
    (urgent,) = bench.enqueue(priority=-5)
    step = FORGOTTEN_AFTER + timedelta(seconds=1)
    bench.session.script(
        "select set_config('cronledger.test_now', (cronledger.now() + %(step)s)::text, false)",
        {"step": step},
    )
    bench.claim(5)  # its answer says how late it is
    assert bench.claim(5)[0].job_id == urgent


def test_a_worker_that_takes_all_it_can_forgets_the_floor_too(bench: Workbench) -> None:
    floor, queues = Floor(), ("default",)  # as the worker's settings have them
    bench.enqueue(jobs=20)
    leases = bench.claim(2)
    for seconds in range(4):
        late = leases[0].claimed_at + timedelta(seconds=seconds)
        floor.claimed(queues, [replace(leases[0], claimed_at=late), leases[1]], 2)
        known = floor.of(["default"])
        assert (known is None) == (timedelta(seconds=seconds) == FORGOTTEN_AFTER)


def test_q092_a_large_payload_is_refused_with_what_to_do_instead(any_database: str) -> None:
    with psycopg.connect(any_database) as connection:
        connection.execute("insert into cronledger.queue (name) values ('default')")
        fits = JobSpec("k", payload={"body": "x" * 65_000})
        assert enqueue_once(connection, "fits", fits).inserted
        large = JobSpec("k", payload={"body": "x" * 65_536})
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="enqueue a reference"):
            enqueue_once(connection, "large", large)


def test_headers_travel_beside_the_payload(bench: Workbench) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with psycopg.connect(bench.dsn) as connection:
        job = JobSpec("work", payload={"n": 1}, tenant="a", schema_version=3)
        enqueue_once(connection, "k", job, headers={"traceparent": parent})
    (lease,) = bench.claim(1, "a", "work@3")
    assert (lease.tenant, lease.payload) == ("a", {"n": 1})
    assert json.loads(json.dumps(lease.headers)) == {"traceparent": parent}
