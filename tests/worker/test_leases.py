"""Leases that are kept, leases that are lost, and attempts that run out of time."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from itertools import pairwise

from crew import PATIENCE, Crew
from cronledger.adapters.clock import SystemClock
from cronledger.core.events import Attempted, LeaseLost, Lifecycle, LoopFailed
from cronledger.core.lifecycle import Settlement
from cronledger.errors import StoreError
from cronledger.worker import Cancelled, JobContext
from workbench import Workbench

STALE = "cronledger_stale_completions_rejected_total"
SECOND = timedelta(seconds=1)


def test_q021_busy_handlers_do_not_starve_the_keeper(bench: Workbench, crew: Crew) -> None:
    bench.line(lease=6 * SECOND)  # wide enough for a machine that others keep busy
    clock, sent, enough = SystemClock(), [], threading.Event()

    def note(call: str) -> None:
        sent.append(clock.monotonic())
        if len(sent) == 3:
            enough.set()

    def spin(job: JobContext) -> None:
        while not enough.is_set():
            sum(range(1000))
            job.check()

    ids = bench.enqueue(jobs=16)
    crew.start(crew.make({"work": spin}, concurrency=16, before_keeper=note))
    crew.seen.wait_for(Attempted, 16)
    assert crew.seen.attempts() == [(1, Settlement.COMPLETED, None)] * 16
    assert bench.states(ids) == ["completed"] * 16
    assert max(after - before for before, after in pairwise(sent)) < 6 * SECOND / 2


def test_all_held_leases_are_extended_in_one_statement(bench: Workbench, crew: Crew) -> None:
    bench.line(lease=SECOND)
    rounds, enough = [], threading.Event()

    def note(call: str) -> None:
        rounds.append(call)
        if len(rounds) == 4:
            enough.set()

    ids = bench.enqueue(jobs=8)
    handlers = {"work": lambda job: enough.wait(PATIENCE)}
    crew.start(crew.make(handlers, concurrency=8, before_keeper=note))
    crew.seen.wait_for(Attempted, 8)
    assert bench.states(ids) == ["completed"] * 8
    assert set(rounds) == {"extend"}
    # A third of the span apart, whatever the number of leases.
    assert len(rounds) <= 6


def test_a_lease_that_was_taken_away_cancels_its_handler_and_bars_it(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(lease=SECOND)
    begun, reasons = threading.Event(), []

    def work(job: JobContext) -> None:
        begun.set()
        try:
            job.wait(timedelta(seconds=PATIENCE))
        except Cancelled as cancelled:
            reasons.append(cancelled.reason)
        # And now it goes on to its end, as if it had not heard.

    ids = bench.enqueue()
    crew.start(crew.make({"work": work}))
    assert begun.wait(PATIENCE)
    assert bench.another(timedelta(minutes=5)).rescue(1) == 1
    (lost,) = crew.seen.wait_for(LeaseLost)
    crew.seen.wait_for(Attempted)
    assert lost.lease.job_id == ids[0]
    assert reasons == ["lease_lost"]
    assert crew.seen.attempts() == [(1, Settlement.STALE, "lease_lost")]
    assert bench.states(ids) == ["retrying"]
    # Barred: the database was not even asked.
    assert bench.counted(STALE) == {}


def test_a_lost_lease_cancels_a_coroutine_where_it_waits(bench: Workbench, crew: Crew) -> None:
    bench.line(lease=SECOND)
    begun, cancelled = threading.Event(), threading.Event()

    async def work(job: JobContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            assert job.cancelled
            cancelled.set()

    bench.enqueue()
    crew.start(crew.make({"work": work}))
    assert begun.wait(PATIENCE)
    bench.another(timedelta(minutes=5)).rescue(1)
    assert cancelled.wait(PATIENCE)
    crew.seen.wait_for(Attempted)
    assert crew.seen.attempts() == [(1, Settlement.STALE, "lease_lost")]


def test_a_keeper_without_an_answer_gives_the_lease_up_before_it_ends(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(lease=SECOND)
    never = threading.Event()

    def work(job: JobContext) -> None:
        job.wait(timedelta(seconds=PATIENCE))

    (id_,) = bench.enqueue()

    def hang(call: str) -> None:
        never.wait(5)

    # No answer from the connection, and no error either.
    crew.start(crew.make({"work": work}, before_keeper=hang, rescue=timedelta(minutes=1)))
    (lost,) = crew.seen.wait_for(LeaseLost)
    (row,) = bench.rows(
        "select expires_at > cronledger.now() as held from cronledger.lease where job_id = %(id)s",
        id=id_,
    )
    assert row["held"]
    assert lost.lease.token > 0
    crew.seen.wait_for(Attempted)
    assert crew.seen.attempts()[0] == (1, Settlement.STALE, "lease_lost")
    never.set()


def test_a_round_that_fails_is_unknown_and_not_a_loss(bench: Workbench, crew: Crew) -> None:
    bench.line(lease=6 * SECOND)  # long enough for a round that a busy machine delays
    rounds, done = [], threading.Event()

    def fail_once(call: str) -> None:
        rounds.append(call)
        if len(rounds) == 1:
            raise StoreError("no route", "08006")
        if len(rounds) == 3:
            done.set()

    ids = bench.enqueue()
    crew.start(crew.make({"work": lambda job: done.wait(PATIENCE)}, before_keeper=fail_once))
    crew.seen.wait_for(Attempted)
    seen = crew.seen.wait_for(LoopFailed)
    assert len(seen) == 1, seen
    (failed,) = seen
    assert (failed.loop, failed.sqlstate) == ("keeper", "08006")
    assert failed.delay < 6 * SECOND / 3
    assert crew.seen.attempts() == [(1, Settlement.COMPLETED, None)]
    assert bench.states(ids) == ["completed"]


def test_a_coroutine_past_its_timeout_is_cancelled(bench: Workbench, crew: Crew) -> None:
    ended = threading.Event()

    async def work(job: JobContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    ids = bench.enqueue(timeout=timedelta(milliseconds=200))
    crew.start(crew.make({"work": work}))
    crew.seen.wait_for(Attempted)
    assert ended.wait(PATIENCE)
    assert crew.seen.attempts() == [(1, Settlement.RETRYING, "timeout")]
    assert bench.states(ids) == ["retrying"]


def test_a_thread_past_its_timeout_is_told_and_fails_as_timeout(
    bench: Workbench, crew: Crew
) -> None:
    told: list[object] = []

    def work(job: JobContext) -> None:
        assert timedelta(0) < job.remaining() <= timedelta(milliseconds=200)
        try:
            job.wait(timedelta(seconds=PATIENCE))
        except Cancelled as cancelled:
            told.extend([cancelled.reason, job.cancelled, job.remaining()])
            raise

    bench.enqueue(timeout=timedelta(milliseconds=200), max_attempts=1)
    crew.start(crew.make({"work": work}))
    crew.seen.wait_for(Attempted)
    assert crew.seen.attempts() == [(1, Settlement.DEAD, "timeout")]
    assert told == ["timeout", True, timedelta(0)]


def test_a_hung_thread_frees_its_slot_and_its_late_result_is_dropped(
    bench: Workbench, crew: Crew
) -> None:
    release = threading.Event()
    hung = bench.enqueue("hang", timeout=timedelta(milliseconds=200))
    others = bench.enqueue(jobs=3)
    handlers = {"hang": lambda job: release.wait(PATIENCE), "work": lambda job: None}
    crew.start(crew.make(handlers, concurrency=1))
    crew.seen.wait_for(Attempted, 4)
    assert bench.states(hung + others) == ["retrying", *["completed"] * 3]
    release.set()
    dropped = crew.seen.wait_for(Lifecycle, 2)[1]
    assert dropped.what == "late_result_dropped"
    assert "attempt 1 ended after its timeout: completed" in dropped.detail
    assert bench.states(hung) == ["retrying"]


def test_a_coroutine_that_will_not_be_cancelled_frees_its_slot_too(
    bench: Workbench, crew: Crew
) -> None:
    release = threading.Event()

    async def hang(job: JobContext) -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    bench.enqueue("hang", timeout=timedelta(milliseconds=200))
    others = bench.enqueue(jobs=2)

    async def work(job: JobContext) -> None:
        await asyncio.sleep(0)

    crew.start(crew.make({"hang": hang, "work": work}, concurrency=1))
    crew.seen.wait_for(Attempted, 3)
    assert bench.states(others) == ["completed"] * 2
    release.set()


def test_a_lost_lease_keeps_its_slot_until_the_handler_ends(bench: Workbench, crew: Crew) -> None:
    bench.line(lease=SECOND, backoff_base=timedelta(hours=1))
    begun, release = threading.Event(), threading.Event()
    running, most = 0, 0

    def deaf(job: JobContext) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        begun.set()
        release.wait(PATIENCE)
        running -= 1

    first = bench.enqueue()
    crew.start(crew.make({"work": deaf}, concurrency=1))
    assert begun.wait(PATIENCE)
    bench.another(timedelta(minutes=5)).rescue(1)
    crew.seen.wait_for(LeaseLost)
    second = bench.enqueue()
    release.set()
    crew.seen.wait_for(Attempted, 2)
    assert most == 1
    assert bench.states(first + second) == ["retrying", "completed"]


def test_q031_an_event_loop_that_a_handler_blocks_loses_no_lease(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(lease=2 * SECOND)
    enough, extensions, calls = threading.Event(), list[str](), list[str]()

    def note(call: str) -> None:
        extensions.append(call)
        if len(extensions) == 7:  # a third of the lease apart: twice the lease has passed
            enough.set()

    async def blocking(job: JobContext) -> None:
        assert enough.wait(PATIENCE)
        with job.write_once("mail") as effect:
            if effect.should_run:
                calls.append(effect.key)
                effect.commit({})

    bench.enqueue()
    crew.make({"work": blocking}, before_keeper=note).run_until_idle()
    assert crew.seen.attempts() == [(1, Settlement.COMPLETED, None)]
    assert len(calls) == 1
