"""The lease protocol in PostgreSQL: who may claim, who may settle, and what follows a failure."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.core.lifecycle import Failure, Lease, Settlement
from workbench import SessionFor, Workbench

STALE = "cronledger_stale_completions_rejected_total"
EXPIRED = "cronledger_leases_expired_total"
ATTEMPTS = "cronledger_attempts_total"
BOOM = Failure("Boom", "it broke")
PAST_THE_LEASE = timedelta(seconds=61)


@pytest.fixture
def bench(any_database: str, session_for: SessionFor) -> Workbench:
    return Workbench(any_database, session_for)


def expired(bench: Workbench, **spec: object) -> Lease:
    """A lease of `a` that is past its end, by the clock of `another(PAST_THE_LEASE)`."""
    bench.enqueue(**spec)  # type: ignore[arg-type]  # the bench checks what it is given
    return bench.claim()[0]


def superseded(bench: Workbench) -> tuple[Lease, Lease, PostgresQueue]:
    """A lease that was rescued, the one that followed it, and the queue at that later time."""
    first = expired(bench)
    later = bench.another(timedelta(hours=3))
    assert later.rescue(10) == 1
    # The back-off starts at the rescue's time, so the next claim comes later still.
    after = bench.another(timedelta(hours=5))
    (second,) = after.claim(["default"], ["work"], 1, "b")
    return first, second, after


def test_concurrent_claims_share_no_job(bench: Workbench) -> None:
    ids = bench.enqueue(jobs=200)
    queues = [bench.another() for _ in range(6)]
    together = threading.Barrier(len(queues), timeout=30)

    def drain(queue: PostgresQueue) -> list[int]:
        together.wait()
        found: list[int] = []
        while leases := queue.claim(["default"], ["work"], 7, "w"):
            found += [lease.job_id for lease in leases]
        return found

    with ThreadPoolExecutor(len(queues)) as threads:
        claimed = [id_ for share in threads.map(drain, queues) for id_ in share]
    assert sorted(claimed) == ids


def test_a_claim_tells_everything_about_the_attempt(bench: Workbench) -> None:
    bench.line(lease=timedelta(seconds=7), max_attempts=3, timeout=timedelta(minutes=2))
    (id_,) = bench.enqueue(payload={"a": [1, None]})
    (lease,) = bench.claim(5, "w-1")
    assert (lease.job_id, lease.key) == (id_, "bench:2026-08-01T00:00:00Z")
    assert (lease.attempt, lease.max_attempts) == (1, 3)
    assert lease.payload == {"a": [1, None]}
    assert lease.expires_at - lease.claimed_at == lease.span == timedelta(seconds=7)
    assert lease.timeout == timedelta(minutes=2)
    job = bench.queue.job(id_)
    assert job is not None
    assert (job.state, job.worker) == ("leased", "w-1")


def test_a_completion_is_settled_once(bench: Workbench) -> None:
    bench.enqueue()
    lease = bench.claim()[0]
    assert bench.queue.complete([lease]) == {lease.token}
    assert bench.queue.complete([lease]) == frozenset()
    assert bench.states([lease.job_id]) == ["completed"]
    assert bench.counted(STALE) == {("default", "work"): 1}


def test_what_a_superseded_lease_asks_changes_nothing_and_is_counted(bench: Workbench) -> None:
    first, second, after = superseded(bench)
    before = bench.rows("table cronledger.lease")
    assert after.complete([first]) == frozenset()
    assert after.fail(first, BOOM) is Settlement.STALE
    assert after.extend([first]) == {}
    assert bench.rows("table cronledger.lease") == before
    assert bench.counted(STALE) == {("default", "work"): 2}
    assert after.extend([second]) == {second.token: False}
    assert after.complete([second]) == {second.token}
    assert (second.attempt, second.token > first.token) == (2, True)


def test_one_stale_lease_does_not_hold_up_the_others_of_its_batch(bench: Workbench) -> None:
    first, second, after = superseded(bench)
    bench.enqueue(jobs=3)
    others = after.claim(["default"], ["work"], 5, "a")
    ours = {lease.token for lease in others}
    assert after.extend([first, *others]).keys() == ours
    assert after.complete([first, *others]) == ours
    assert after.complete([second]) == {second.token}
    assert bench.counted(STALE) == {("default", "work"): 1}


def test_a_lease_is_lost_by_rescue_and_not_by_the_hour(bench: Workbench) -> None:
    lease = expired(bench)
    late = bench.another(PAST_THE_LEASE)
    assert late.complete([lease]) == {lease.token}
    assert late.rescue(10) == 0
    assert bench.states([lease.job_id]) == ["completed"]
    assert bench.counted(STALE) == {}


def test_an_extension_puts_the_end_off_by_the_span_of_the_queue(bench: Workbench) -> None:
    lease = expired(bench)
    assert bench.another(timedelta(seconds=40)).extend([lease]) == {lease.token: False}
    assert bench.another(timedelta(seconds=99)).rescue(10) == 0
    assert bench.another(timedelta(seconds=101)).rescue(10) == 1


def test_a_rescue_charges_the_attempt_and_counts_it(bench: Workbench) -> None:
    lease = expired(bench)
    assert bench.another(timedelta(seconds=59)).rescue(10) == 0
    assert bench.another(PAST_THE_LEASE).rescue(10) == 1
    job = bench.queue.job(lease.job_id)
    assert job is not None
    assert (job.state, job.attempt, job.error_class) == ("retrying", 1, "lease_expired")
    assert bench.counted(EXPIRED) == {("default", "work"): 1}
    assert bench.counted(ATTEMPTS) == {("default", "work", "lease_expired"): 1}


def test_a_rescue_at_the_last_attempt_makes_a_dead_letter(bench: Workbench) -> None:
    lease = expired(bench, max_attempts=1)
    assert bench.another(PAST_THE_LEASE).rescue(10) == 1
    assert bench.states([lease.job_id]) == ["dead"]
    (dead,) = bench.rows("select * from cronledger.dead")
    assert (dead["job_id"], dead["error_class"]) == (lease.job_id, "lease_expired")
    assert "a" in dead["error"]
    assert bench.counted("cronledger_jobs_finished_total") == {("default", "work", "dead"): 1}


def test_a_rescue_goes_round_a_lease_that_is_just_being_settled(bench: Workbench) -> None:
    bench.enqueue(jobs=2)
    held, other = bench.claim(2)
    settling = bench.session_at()
    with settling.transaction():
        assert PostgresQueue(settling).complete([held]) == {held.token}
        assert bench.another(PAST_THE_LEASE).rescue(10) == 1
    assert bench.states([held.job_id, other.job_id]) == ["completed", "retrying"]


def test_two_rescuers_share_the_expired_leases(bench: Workbench) -> None:
    bench.enqueue(jobs=300)
    assert len(bench.claim(300)) == 300
    rescuers = [bench.another(PAST_THE_LEASE) for _ in range(2)]
    together = threading.Barrier(2, timeout=30)

    def rescue(queue: PostgresQueue) -> int:
        together.wait()
        return sum(iter(lambda: queue.rescue(20), 0))

    with ThreadPoolExecutor(2) as threads:
        assert sum(threads.map(rescue, rescuers)) == 300
    assert bench.counted(ATTEMPTS) == {("default", "work", "lease_expired"): 300}


def test_completing_and_rescuing_at_once_settles_each_job_once(bench: Workbench) -> None:
    ids = bench.enqueue(jobs=150)
    leases = bench.claim(150)
    completer, rescuer = bench.another(PAST_THE_LEASE), bench.another(PAST_THE_LEASE)
    together = threading.Barrier(2, timeout=30)

    def complete() -> int:
        together.wait()
        return sum(len(completer.complete([lease])) for lease in leases)

    def rescue() -> int:
        together.wait()
        return sum(rescuer.rescue(5) for _ in range(30))

    with ThreadPoolExecutor(2) as threads:
        completing, rescuing = threads.submit(complete), threads.submit(rescue)
        completed, rescued = completing.result(60), rescuing.result(60)
    # A lease that one side had locked was passed over by the other.
    assert completed + rescued == 150
    assert sorted(bench.states(ids)) == ["completed"] * completed + ["retrying"] * rescued
    assert sum(bench.counted(STALE).values()) == rescued


@pytest.mark.parametrize(("attempt", "nominal"), [(1, 4), (2, 8), (3, 16), (9, 1024), (12, 3600)])
def test_the_back_off_doubles_to_its_cap_within_half_and_one_and_a_half(
    bench: Workbench, attempt: int, nominal: int
) -> None:
    found = bench.rows(
        "select extract(epoch from cronledger.backoff(%(n)s, '2 s', '1 hour', draw))::float as s"
        " from (values (0.0::float8), (0.5), (0.999999)) as d(draw)",
        n=attempt,
    )
    low, middle, high = (row["s"] for row in found)
    assert (low, middle) == (pytest.approx(nominal / 2), pytest.approx(nominal))
    assert nominal * 1.49 < high < nominal * 1.5


def test_a_failure_waits_for_its_back_off_or_for_what_it_asks(bench: Workbench) -> None:
    bench.enqueue(jobs=2)
    backing_off, asking = bench.claim(2)
    assert bench.queue.fail(backing_off, BOOM) is Settlement.RETRYING
    asked = Failure("retry", "later", retry_after=timedelta(minutes=10))
    assert bench.queue.fail(asking, asked) is Settlement.RETRYING
    waits = [
        row["wait"].total_seconds()
        for row in bench.rows(
            "select eligible_at - cronledger.now() as wait from cronledger.deferred order by job_id"
        )
    ]
    assert 0 < waits[0] <= 6
    assert 590 < waits[1] <= 600
    early = bench.another(timedelta(minutes=9)).claim(["default"], ["work"], 5, "b")
    assert [lease.job_id for lease in early] == [backing_off.job_id]


def test_a_failure_that_cannot_be_retried_is_dead_with_its_message(bench: Workbench) -> None:
    (id_,) = bench.enqueue()
    failure = Failure("discard", "no such customer\x00", retryable=False)
    assert bench.queue.fail(bench.claim()[0], failure) is Settlement.DEAD
    assert bench.states([id_]) == ["dead"]
    assert bench.rows("select error from cronledger.dead") == [{"error": "no such customer\\0"}]
    assert bench.counted(ATTEMPTS) == {("default", "work", "dead"): 1}


def test_the_last_attempt_that_fails_is_dead(bench: Workbench) -> None:
    (id_,) = bench.enqueue(max_attempts=2)
    assert bench.queue.fail(bench.claim()[0], BOOM) is Settlement.RETRYING
    later = bench.another(timedelta(hours=1))
    (second,) = later.claim(["default"], ["work"], 1, "a")
    assert later.fail(second, BOOM) is Settlement.DEAD
    assert bench.states([id_]) == ["dead"]
    assert later.claim(["default"], ["work"], 1, "a") == []


def test_a_kind_that_nobody_named_is_not_claimed(bench: Workbench) -> None:
    mine = bench.enqueue("mine")
    bench.enqueue("other", jobs=3)
    assert [lease.job_id for lease in bench.claim(5, "a", "mine", "third")] == mine
    assert bench.queue.claim(["default"], [], 5, "a") == []


def test_a_paused_queue_gives_nothing_and_keeps_what_is_leased(bench: Workbench) -> None:
    bench.enqueue(jobs=2)
    lease = bench.claim()[0]
    pause = "update cronledger.queue set paused_at = {}, paused_by = {}, pause_reason = {}"
    bench.rows(pause.format("cronledger.now()", "'mira'", "'INC-204'") + " returning id")
    assert bench.claim() == []
    assert bench.queue.extend([lease]) == {lease.token: False}
    assert bench.queue.complete([lease]) == {lease.token}
    bench.rows(pause.format("null", "null", "null") + " returning id")
    assert len(bench.claim()) == 1


def test_queues_are_drained_in_the_order_given(bench: Workbench) -> None:
    bench.line("urgent")
    low = bench.enqueue(jobs=2)
    high = bench.enqueue(jobs=2, queue="urgent")
    leases = bench.queue.claim(["urgent", "nowhere", "default"], ["work"], 3, "a")
    assert [lease.job_id for lease in leases] == [*high, low[0]]
    assert [lease.queue for lease in leases] == ["urgent", "urgent", "default"]


def test_a_smaller_priority_runs_first_and_then_the_older(bench: Workbench) -> None:
    ordinary = bench.enqueue(jobs=2)
    urgent = bench.enqueue(jobs=2, priority=-5)
    assert [lease.job_id for lease in bench.claim(4)] == [*urgent, *ordinary]


def test_a_claim_that_names_no_queue_takes_from_all_that_are_not_paused(bench: Workbench) -> None:
    for name in ("b", "a", "c"):
        bench.line(name=name)
        bench.enqueue(queue=name)
    bench.rows(
        "update cronledger.queue set paused_at = now(), paused_by = 'x', pause_reason = 'y'"
        " where name = 'c'"
    )
    assert [lease.queue for lease in bench.queue.claim([], ["work"], 10, "w")] == ["a", "b"]


def test_a_claim_that_finds_nothing_is_not_compiled_first(bench: Workbench) -> None:
    def seconds() -> float:
        began = time.perf_counter()
        assert bench.claim() == []
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.1  # it takes 1 ms; compiling it took 400


def test_extensions_are_counted_and_so_are_those_that_came_too_late(bench: Workbench) -> None:
    bench.enqueue(jobs=3)
    first, second, third = bench.claim(3)
    assert len(bench.queue.extend([first, second, third])) == 3
    bench.queue.release([third])
    assert set(bench.queue.extend([second, third])) == {second.token}
    assert bench.counted("cronledger_lease_extensions_total") == {
        ("default", "ok"): 4,
        ("default", "lost"): 1,
    }
