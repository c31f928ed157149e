"""What becomes of a job when a worker runs its handler."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from crew import PATIENCE, Crew
from cronledger.core.events import Attempted, LoopFailed
from cronledger.core.lifecycle import Settlement
from cronledger.errors import ConfigError, StoreError
from cronledger.worker import Discard, Handlers, JobContext, Retry
from workbench import Workbench

COMPLETED, RETRYING, DEAD = Settlement.COMPLETED, Settlement.RETRYING, Settlement.DEAD


def test_sync_and_async_handlers_complete_their_jobs(bench: Workbench, crew: Crew) -> None:
    app = Handlers()
    ran: list[tuple[str, object, bool]] = []

    @app.handler("sync")
    def sync(job: JobContext) -> str:
        ran.append((job.key, job.payload["n"], threading.current_thread().daemon))
        return "dropped"

    @app.handler("async")
    async def also(job: JobContext) -> None:
        await asyncio.sleep(0)
        ran.append((job.key, job.payload["n"], threading.current_thread().daemon))

    ids = bench.enqueue("sync", payload={"n": 1}) + bench.enqueue("async", payload={"n": 2})
    crew.make(app).run_until_idle()
    assert sorted(ran) == [
        ("bench:2026-08-01T00:00:00Z", 1, True),
        ("bench:2026-08-01T00:01:00Z", 2, True),
    ]
    assert bench.states(ids) == ["completed", "completed"]
    assert crew.seen.attempts() == [(1, COMPLETED, None)] * 2


def test_a_plain_dict_of_functions_is_a_set_of_handlers(bench: Workbench, crew: Crew) -> None:
    ids = bench.enqueue()
    crew.make({"work": lambda job: None}).run_until_idle()
    assert bench.states(ids) == ["completed"]


def test_jobs_of_a_kind_without_a_handler_are_left_alone(bench: Workbench, crew: Crew) -> None:
    theirs = bench.enqueue("theirs")
    ours = bench.enqueue()
    crew.make({"work": lambda job: None}).run_until_idle()
    assert bench.states(theirs + ours) == ["eligible", "completed"]


def test_a_backlog_is_drained_at_the_concurrency_given_and_not_above(
    bench: Workbench, crew: Crew
) -> None:
    running, most, lock = 0, 0, threading.Lock()
    calls: Counter[str] = Counter()
    threads: set[str] = set()

    def count_calls(call: str) -> None:
        calls[call] += 1

    def enter(by: int) -> None:
        nonlocal running, most
        with lock:
            running += by
            most = max(most, running)

    def sync(job: JobContext) -> None:
        threads.add(threading.current_thread().name)
        enter(1)
        enter(-1)

    async def also(job: JobContext) -> None:
        enter(1)
        await asyncio.sleep(0.001)
        enter(-1)

    ids = bench.enqueue("sync", jobs=150) + bench.enqueue("async", jobs=150)
    worker = crew.make({"sync": sync, "async": also}, concurrency=10, before=count_calls)
    worker.run_until_idle()
    assert set(bench.states(ids)) == {"completed"}
    assert 1 <= most <= 10
    # In batches: far fewer transactions than jobs.
    assert calls["complete"] + calls["claim"] < 150
    # And threads are used again.
    assert len(threads) <= 10


def test_a_worker_whose_slots_are_taken_claims_nothing(bench: Workbench, crew: Crew) -> None:
    begun, passes = threading.Semaphore(0), threading.Semaphore(0)
    release = threading.Event()

    def hold(job: JobContext) -> None:
        begun.release()
        release.wait(PATIENCE)

    def note(call: str) -> None:
        if call == "rescue":
            passes.release()

    soon = timedelta(milliseconds=20)
    ids = bench.enqueue(jobs=8)
    worker = crew.make({"work": hold}, concurrency=3, before=note, poll=soon, rescue=soon)
    crew.start(worker)
    for _ in range(3):
        assert begun.acquire(timeout=PATIENCE)
    while passes.acquire(blocking=False):
        pass
    for _ in range(3):
        assert passes.acquire(timeout=PATIENCE)
    assert Counter(bench.states(ids)) == {"leased": 3, "eligible": 5}
    release.set()
    crew.seen.wait_for(Attempted, 8)


def test_a_retry_comes_when_the_handler_said(bench: Workbench, crew: Crew) -> None:
    def later(job: JobContext) -> None:
        try:
            raise Retry(timedelta(minutes=30), "the bank is closed")
        except Exception:  # what a careful handler does around its work
            pytest.fail("a signal is not an error")

    bench.enqueue()
    crew.make({"work": later}).run_until_idle()
    assert crew.seen.attempts() == [(1, RETRYING, "retry")]
    (row,) = bench.rows("select eligible_at - now() as wait from cronledger.deferred")
    assert timedelta(minutes=29) < row["wait"] <= timedelta(minutes=30)


def test_a_discarded_job_is_dead_at_once(bench: Workbench, crew: Crew) -> None:
    async def discard(job: JobContext) -> None:
        raise Discard("no such customer")

    ids = bench.enqueue(max_attempts=5)
    crew.make({"work": discard}).run_until_idle()
    assert bench.states(ids) == ["dead"]
    (row,) = bench.rows("select error_class, error from cronledger.dead")
    assert row["error_class"] == "discard"
    assert row["error"].startswith("no such customer (")
    assert row["error"].endswith(" in discard)")


def fail(job: JobContext) -> None:
    raise ValueError("bad")


def test_jobs_that_wait_for_a_later_time_do_not_keep_a_burst_alive(
    bench: Workbench, crew: Crew
) -> None:
    ids = bench.enqueue(jobs=3)
    crew.make({"work": fail}).run_until_idle()
    assert bench.states(ids) == ["retrying"] * 3


def test_a_retrying_job_comes_back_as_the_next_attempt(bench: Workbench, crew: Crew) -> None:
    bench.line(backoff_base=timedelta(milliseconds=10))

    def twice(job: JobContext) -> None:
        if job.attempt < 3:
            raise ValueError("not yet")

    ids = bench.enqueue()
    crew.start(crew.make({"work": twice}))
    crew.seen.wait_for(Attempted, 3)
    assert crew.seen.attempts() == [
        (1, RETRYING, "ValueError"),
        (2, RETRYING, "ValueError"),
        (3, COMPLETED, None),
    ]
    assert bench.states(ids) == ["completed"]


def test_a_running_worker_finds_jobs_that_come_later(bench: Workbench, crew: Crew) -> None:
    crew.start(crew.make({"work": lambda job: None}))
    for number in range(1, 4):
        bench.enqueue()
        crew.seen.wait_for(Attempted, number)


def test_an_idle_worker_makes_one_transaction_per_poll(bench: Workbench, crew: Crew) -> None:
    calls: list[str] = []
    enough = threading.Event()

    def note(call: str) -> None:
        calls.append(call)
        if len(calls) == 22:
            enough.set()

    worker = crew.make(
        {"work": lambda job: None},
        before=note,
        before_keeper=note,
        poll=timedelta(milliseconds=50),
        rescue=timedelta(milliseconds=250),
    )
    clock = worker._clock  # the same that it waits on
    begun = clock.monotonic()
    crew.start(worker)
    assert enough.wait(20)
    # Two calls in the first pass, one in each of the twenty that follow.
    assert clock.monotonic() - begun >= timedelta(milliseconds=50) * 20
    assert set(calls) == {"claim", "rescue"}
    assert 3 <= calls.count("rescue") <= 6


def test_a_database_that_is_away_costs_time_and_no_result(bench: Workbench, crew: Crew) -> None:
    failing = iter([StoreError("away", "08006")] * 2)

    def lose_the_connection(call: str) -> None:
        if call == "complete" and (error := next(failing, None)):
            raise error

    ids = bench.enqueue(jobs=3)
    crew.start(crew.make({"work": lambda job: None}, before=lose_the_connection))
    crew.seen.wait_for(Attempted, 3)
    assert bench.states(ids) == ["completed"] * 3
    assert crew.seen.attempts() == [(1, COMPLETED, None)] * 3
    failed = crew.seen.wait_for(LoopFailed, 2)
    assert [(e.loop, e.error, e.sqlstate) for e in failed] == [("worker", "away", "08006")] * 2
    assert failed[0].delay < failed[1].delay


def test_a_worker_whose_connections_are_cut_makes_new_ones(bench: Workbench, crew: Crew) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(job: JobContext) -> None:
        begun.set()
        assert go_on.wait(20)

    ids = bench.enqueue(jobs=2)
    crew.start(crew.make({"work": wait}, concurrency=1))
    assert begun.wait(20)
    bench.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'worker under test' and datname = current_database()"
    )
    crew.seen.wait_for(LoopFailed)
    go_on.set()
    crew.seen.wait_for(Attempted, 2)
    assert bench.states(ids) == ["completed"] * 2


def test_a_burst_on_a_database_that_does_not_answer_says_so() -> None:
    nowhere = Crew("host=127.0.0.1 port=1 dbname=none user=none")
    with pytest.raises(StoreError, match="port 1"):
        nowhere.make({"work": lambda job: None}).run_until_idle()


def test_a_listener_that_fails_does_not_stop_the_work(bench: Workbench, crew: Crew) -> None:
    def full_disk(event: object) -> None:
        raise OSError("no space left")

    ids = bench.enqueue()
    crew.make({"work": lambda job: None}, observe=full_disk).run_until_idle()
    assert bench.states(ids) == ["completed"]


@pytest.mark.parametrize(
    ("handlers", "message"),
    [
        ({}, "there are no handlers"),
        ({"work": 3}, "use a function"),
        ({"": print}, "is not a kind"),
        ({"work": lambda: None}, "cannot be called with one JobContext"),
    ],
)
def test_handlers_that_cannot_work_are_refused_before_anything_runs(
    handlers: dict[str, Callable[[JobContext], object]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Crew("").make(handlers)
