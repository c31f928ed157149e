"""What operators do by hand: what it changes, what it says, what it refuses, and its record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import psycopg
import pytest

from cronledger import JobSpec, enqueue_once
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.session import Session
from cronledger.core.audit import By
from cronledger.core.lifecycle import Failure, Settlement
from cronledger.errors import ConfigError, RefusedError, StoreError
from workbench import Workbench

BY = By("mia", "somebody asked for it")


@pytest.fixture
def controls(bench: Workbench) -> PostgresControls:
    return PostgresControls(bench.session)


def dead_job(bench: Workbench) -> int:
    """A job that failed for good."""
    (id_,) = bench.enqueue()
    (lease,) = bench.claim()
    assert bench.queue.fail(lease, Failure("Boom", "it broke", retryable=False)) == "dead"
    return id_


def test_q112_a_poison_job_that_is_leased_ends_when_its_attempt_does(
    bench: Workbench, controls: PostgresControls
) -> None:
    (id_,) = bench.enqueue()
    (lease,) = bench.claim()
    assert controls.cancel(id_, BY) == "cancel_requested"
    assert bench.queue.extend([lease]) == {lease.token: True}
    assert bench.queue.fail(lease, Failure("Boom", "it broke")) is Settlement.CANCELLED
    assert bench.states([id_]) == ["cancelled"]
    assert bench.counted("cronledger_jobs_finished_total") == {("default", "work", "cancelled"): 1}


def test_q112_a_worker_that_is_gone_cannot_keep_a_job_from_being_cancelled(
    bench: Workbench, controls: PostgresControls
) -> None:
    (id_,) = bench.enqueue()
    bench.claim()
    controls.cancel(id_, BY)
    assert bench.another(timedelta(hours=1)).rescue(10) == 1
    assert bench.states([id_]) == ["cancelled"]


def test_an_attempt_that_completes_in_time_is_not_cancelled(
    bench: Workbench, controls: PostgresControls
) -> None:
    (id_,) = bench.enqueue()
    (lease,) = bench.claim()
    controls.cancel(id_, BY)
    assert bench.queue.complete([lease]) == {lease.token}
    with pytest.raises(RefusedError, match=f"job {id_} is completed, so it cannot be cancelled"):
        controls.cancel(id_, BY)


def test_a_job_that_was_taken_back_is_refused_to_its_old_worker(
    bench: Workbench, controls: PostgresControls
) -> None:
    (id_,) = bench.enqueue()
    (old,) = bench.claim()
    assert controls.take_back(id_, BY) == "eligible"
    (new,) = bench.claim(1, "b")
    assert (new.attempt, new.token > old.token) == (1, True)
    assert bench.queue.complete([old]) == frozenset()
    assert bench.queue.complete([new]) == {new.token}


def test_a_replay_is_the_same_job_under_the_same_key_with_attempts_counted_on(
    bench: Workbench, controls: PostgresControls
) -> None:
    id_ = dead_job(bench)
    assert controls.replay(id_, None, BY) == "eligible"
    (lease,) = bench.claim()
    assert (lease.job_id, lease.attempt, lease.max_attempts) == (id_, 2, 9)
    assert bench.queue.complete([lease]) == {lease.token}
    assert bench.states([id_]) == ["completed"]


def test_q044_a_replay_that_two_operators_order_happens_once(
    bench: Workbench, session_for: Callable[..., Session]
) -> None:
    id_ = dead_job(bench)
    start, answers = Barrier(6), list[str]()

    def order() -> None:
        mine = PostgresControls(session_for(bench.dsn))
        start.wait()
        answers.append(mine.replay(id_, None, BY))

    threads = [Thread(target=order) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One that began before the first may still think that it is not due.
    assert len(answers) == 6
    assert set(answers) <= {"eligible", "retrying"}
    assert len(bench.claim(10)) == 1
    assert len(bench.rows("select 1 from cronledger.audit where action = 'replay'")) == 1


def test_a_replay_may_be_spread_over_time(bench: Workbench, controls: PostgresControls) -> None:
    id_ = dead_job(bench)
    (now,) = bench.rows("select cronledger.now() as now")
    assert controls.replay(id_, now["now"] + timedelta(hours=1), BY) == "retrying"
    assert bench.claim() == []


def test_a_discarded_letter_asks_for_nobody_and_can_still_be_replayed(
    bench: Workbench, controls: PostgresControls
) -> None:
    id_ = dead_job(bench)
    assert [queue.dead for queue in bench.queue.queues()] == [1]
    controls.discard(id_, BY)
    controls.discard(id_, BY)
    assert [queue.dead for queue in bench.queue.queues()] == [0]
    assert len(bench.rows("select 1 from cronledger.audit where action = 'discard'")) == 1
    assert controls.replay(id_, None, BY) == "eligible"


def test_q161_a_paused_queue_is_not_claimed_from_and_comes_back_by_itself(
    bench: Workbench, controls: PostgresControls
) -> None:
    bench.enqueue(jobs=2)
    (now,) = bench.rows("select cronledger.now() as now")
    controls.pause("default", now["now"] + timedelta(hours=1), BY)
    bench.enqueue()  # what falls due is enqueued all the same
    assert bench.claim(10) == []
    later = bench.another(timedelta(hours=2))
    assert len(later.claim(["default"], ["work"], 1, "b")) == 1
    assert controls.resume("default", BY)
    assert not controls.resume("default", BY)
    assert len(bench.claim(10)) == 2


@pytest.mark.parametrize("call", ["cancel", "retry_now", "take_back", "discard"])
def test_a_job_that_does_not_exist_is_said_to(
    bench: Workbench, controls: PostgresControls, call: str
) -> None:
    with pytest.raises(ConfigError, match="there is no job 4711"):
        getattr(controls, call)(4711, BY)
    assert bench.rows("select 1 from cronledger.audit") == []


def test_nothing_happens_by_hand_without_a_reason(bench: Workbench) -> None:
    (id_,) = bench.enqueue()
    for reason in ("", "  ", "short"):
        with pytest.raises(StoreError):
            bench.rows("select cronledger.cancel(%(id)s, 'mia', %(r)s)", id=id_, r=reason)
    assert bench.states([id_]) == ["eligible"]


def test_who_did_what_and_why_stands_beside_before_and_after(
    bench: Workbench, controls: PostgresControls
) -> None:
    (id_,) = bench.enqueue()
    controls.cancel(id_, BY)
    (entry,) = bench.queue.audits(None, "cancel", "mia", 10)
    assert (entry.reason, entry.subject) == (BY.reason, f"bench:{entry.subject[6:]}")
    assert entry.detail["before"]["state"] == "eligible"
    assert entry.detail["after"]["state"] == "cancelled"
    assert entry.detail["job_id"] == id_


# Serialisation by key


def test_of_an_ordering_key_one_job_is_leased_at_a_time_and_the_oldest_first(
    bench: Workbench,
) -> None:
    first, second, third = (bench.enqueue(ordering_key="tenant-1")[0] for _ in range(3))
    other = bench.enqueue(ordering_key="tenant-2")[0]
    claimed = {lease.job_id: lease for lease in bench.claim(10)}
    assert set(claimed) == {first, other}
    assert bench.claim(10) == []
    # A retry keeps its turn; a dead job does not.
    assert bench.queue.fail(claimed[first], Failure("Boom", "later")) == "retrying"
    assert bench.claim(10) == []
    bench.rows("update cronledger.deferred set eligible_at = cronledger.now() returning 1")
    (again,) = bench.claim(10)
    assert again.job_id == first
    bench.queue.fail(again, Failure("Boom", "never", retryable=False))
    (next_,) = bench.claim(10)
    assert next_.job_id == second
    bench.queue.complete([next_])
    assert [lease.job_id for lease in bench.claim(10)] == [third]


def test_q004_a_stale_holder_does_not_block_its_own_recovery(bench: Workbench) -> None:
    (id_,) = bench.enqueue(ordering_key="tenant-1")
    bench.claim()
    later = bench.another(timedelta(hours=1))
    assert later.rescue(10) == 1
    bench.rows("update cronledger.deferred set eligible_at = cronledger.now() returning 1")
    assert [lease.job_id for lease in bench.claim()] == [id_]


def test_q037_claims_that_race_over_one_key_lease_one_job_of_it(
    bench: Workbench, session_for: Callable[..., Session]
) -> None:
    for _ in range(40):
        bench.enqueue(ordering_key="one")
    queues = [bench.another() for _ in range(6)]
    start, most, held = Barrier(6), list[int](), list[int]()

    def work(mine: int) -> None:
        start.wait()
        for _ in range(30):
            for lease in queues[mine].claim(["default"], ["work"], 5, f"w{mine}"):
                held.append(lease.job_id)
                most.append(len(held))
                held.remove(lease.job_id)
                queues[mine].complete([lease])

    threads = [Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    while found := bench.claim():
        bench.queue.complete(found)
    (row,) = bench.rows("select count(*) as n from cronledger.outcome")
    assert row["n"] == 40


# Enqueue without a schedule


def produce(bench: Workbench, *keys: str) -> list[tuple[str, int, bool]]:
    """Enqueue in a transaction of the caller's; key, job and whether it is new, in key order."""
    with psycopg.connect(bench.dsn) as connection:
        made = {key: enqueue_once(connection, key, JobSpec("work")) for key in keys[::-1]}
    return [(key, *made[key]) for key in sorted(made)]


def test_q045_a_key_that_exists_gives_back_its_job_and_aborts_nothing(bench: Workbench) -> None:
    ((_, first, fresh),) = produce(bench, "order-1")
    again = produce(bench, "order-2", "order-1")
    assert fresh
    assert [(key, new) for key, _, new in again] == [("order-1", False), ("order-2", True)]
    assert again[0][1] == first
    assert len(bench.claim(10)) == 2


def test_q042_a_key_is_known_after_its_job_has_ended(bench: Workbench) -> None:
    ((_, first, _),) = produce(bench, "order-1")
    bench.queue.complete(bench.claim())
    assert produce(bench, "order-1") == [("order-1", first, False)]
    assert bench.claim() == []


def test_a_job_has_the_limits_that_its_producer_gives_it(bench: Workbench) -> None:
    job = JobSpec("work", payload={"n": 1}, max_attempts=2, timeout=timedelta(minutes=1))
    with psycopg.connect(bench.dsn) as connection:
        enqueue_once(connection, "order-1", job, run_at=datetime(2026, 1, 1, tzinfo=UTC))
    (lease,) = bench.claim()
    assert (lease.max_attempts, lease.timeout) == (2, timedelta(minutes=1))
    assert (lease.payload, lease.key, lease.logical_time) == ({"n": 1}, "order-1", None)


def test_q070_overlapping_batches_in_different_order_do_not_deadlock(
    bench: Workbench, session_for: Callable[..., Session]
) -> None:
    keys = [f"order-{n}" for n in range(60)]
    start, made = Barrier(4), list[int]()
    query = (
        "select job_id from cronledger.enqueue_once('default', 'work', %(keys)s::text[],"
        " array_fill('{}'::jsonb, array[60]), array_fill(null::timestamptz, array[60]))"
        " where inserted"
    )

    def write(order: int) -> None:
        session = session_for(bench.dsn)
        start.wait()
        for _ in range(10):
            rows = session.script(query, {"keys": keys[::order]})
            made.extend(row["job_id"] for row in rows)

    threads = [Thread(target=write, args=((-1) ** n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(set(made)) == 60


def test_a_batch_tells_new_keys_from_known_ones_wherever_they_stand(bench: Workbench) -> None:
    def enqueue(*keys: str) -> list[tuple[str, bool]]:
        rows = bench.session.script(
            "select key, inserted from cronledger.enqueue_once('default', 'work',"
            " %(keys)s::text[], null, null)",
            {"keys": list(keys)},
        )
        return [(row["key"], row["inserted"]) for row in rows]

    assert enqueue("b", "a", "b") == [("a", True), ("b", True)]
    assert enqueue("b", "a", "b") == [("a", False), ("b", False)]  # known whole
    assert enqueue("b", "c", "a") == [("a", False), ("b", False), ("c", True)]  # the first is known
    assert enqueue("d", "c") == [("c", False), ("d", True)]
    assert enqueue() == []
    assert bench.rows("select count(*) as n from cronledger.job") == [{"n": 4}]


def test_q041_a_key_of_a_transaction_that_was_rolled_back_is_free(bench: Workbench) -> None:
    with psycopg.connect(bench.dsn) as connection:
        assert enqueue_once(connection, "order-1", JobSpec("work")).inserted
        connection.rollback()
    assert produce(bench, "order-1")[0][2]
