"""How a worker stops: it drains; asked again, it leaves."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

from crew import PATIENCE, Crew
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.core.audit import By
from cronledger.core.events import Attempted, Lifecycle
from cronledger.core.lifecycle import Settlement
from cronledger.errors import StoreError
from cronledger.worker import Cancelled, JobContext
from workbench import Workbench


class Holding:
    """A handler that says when it begins and ends when it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()
        self.cancelled_at_end = False

    def __call__(self, job: JobContext) -> None:
        self.begun.set()
        self.release.wait(PATIENCE)
        self.cancelled_at_end = job.cancelled


def test_an_idle_worker_stops_at_once(bench: Workbench, crew: Crew) -> None:
    worker = crew.make({"work": lambda job: None}, poll=timedelta(minutes=5))
    thread = crew.start(worker)
    crew.seen.wait_for(Lifecycle)
    worker.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert [e.what for e in crew.seen.wait_for(Lifecycle, 2)] == [
        "worker_started",
        "worker_stopped",
    ]


def test_a_draining_worker_ends_what_runs_and_claims_nothing(bench: Workbench, crew: Crew) -> None:
    holding, calls, passes = Holding(), [], threading.Semaphore(0)

    def note(call: str) -> None:
        calls.append(call)
        if call == "rescue":
            passes.release()

    running = bench.enqueue()
    soon = timedelta(milliseconds=20)
    worker = crew.make({"work": holding}, concurrency=4, before=note, poll=soon, rescue=soon)
    thread = crew.start(worker)
    assert holding.begun.wait(PATIENCE)
    worker.stop()
    waiting = bench.enqueue(jobs=2)
    while passes.acquire(blocking=False):
        pass
    seen_before = len(calls)
    for _ in range(3):
        assert passes.acquire(timeout=PATIENCE)
    # One claim may have been under way when it was told to stop.
    assert "claim" not in calls[seen_before + 1 :]
    holding.release.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert bench.states(running + waiting) == ["completed", "eligible", "eligible"]
    assert not holding.cancelled_at_end


def test_a_drain_lasts_through_a_database_that_is_away_for_a_moment(
    bench: Workbench, crew: Crew
) -> None:
    holding, failing = Holding(), iter([StoreError("away", "08006")])

    def away_once(call: str) -> None:
        if call == "complete" and (error := next(failing, None)):
            raise error

    ids = bench.enqueue()
    worker = crew.make({"work": holding}, before=away_once)
    thread = crew.start(worker)
    assert holding.begun.wait(PATIENCE)
    worker.stop()
    holding.release.set()
    thread.join(PATIENCE)
    assert bench.states(ids) == ["completed"]


def test_a_second_stop_leaves_at_once_and_the_lease_expires(bench: Workbench, crew: Crew) -> None:
    holding = Holding()
    ids = bench.enqueue()
    worker = crew.make({"work": holding})
    thread = crew.start(worker)
    assert holding.begun.wait(PATIENCE)
    worker.stop()
    worker.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert bench.states(ids) == ["leased"]
    assert crew.seen.attempts() == []
    stopped = crew.seen.wait_for(Lifecycle, 2)[-1]
    assert "1 attempts left to expire" in stopped.detail
    holding.release.set()


def test_a_hung_handler_does_not_keep_a_worker_from_stopping(bench: Workbench, crew: Crew) -> None:
    release = threading.Event()
    bench.enqueue(timeout=timedelta(milliseconds=200))
    worker = crew.make({"work": lambda job: release.wait(PATIENCE)})
    thread = crew.start(worker)
    crew.seen.wait_for(Attempted)
    worker.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert crew.seen.attempts() == [(1, Settlement.RETRYING, "timeout")]
    release.set()


def test_a_loop_that_is_blocked_does_not_keep_a_worker_from_leaving(
    bench: Workbench, crew: Crew
) -> None:
    begun, release = threading.Event(), threading.Event()

    async def block_the_loop(job: JobContext) -> None:
        begun.set()
        release.wait(PATIENCE)
        await asyncio.sleep(0)

    bench.enqueue()
    worker = crew.make({"work": block_the_loop})
    thread = crew.start(worker)
    assert begun.wait(PATIENCE)
    worker.stop()
    worker.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    release.set()


def test_q102_a_second_stop_hands_back_what_ends_when_told_and_charges_nothing(
    bench: Workbench, crew: Crew
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def patient(job: JobContext) -> None:
        begun.set()
        try:
            job.wait(timedelta(minutes=5))
        finally:
            ended.set()

    ids = bench.enqueue()
    worker = crew.make({"work": patient})
    thread = crew.start(worker)
    assert begun.wait(PATIENCE)
    worker.stop()
    worker.stop()
    thread.join(PATIENCE)
    assert ended.is_set()
    assert bench.states(ids) == ["eligible"]
    assert crew.seen.attempts() == [(1, Settlement.RELEASED, "stopping")]
    (lease,) = bench.claim()
    assert lease.attempt == 1


def test_q112_a_running_handler_hears_that_its_job_is_cancelled(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(lease=timedelta(seconds=5))
    begun, told = threading.Event(), list[str]()

    def patient(job: JobContext) -> None:
        begun.set()
        try:
            job.wait(timedelta(minutes=5))
        except Cancelled as cancelled:
            told.append(cancelled.reason)
            raise

    ids = bench.enqueue()
    crew.start(crew.make({"work": patient}))
    assert begun.wait(PATIENCE)
    PostgresControls(bench.session).cancel(ids[0], By("mia", "it does harm now"))
    crew.seen.wait_for(Attempted)
    assert told == ["cancelled"]
    assert crew.seen.attempts() == [(1, Settlement.CANCELLED, "cancelled")]
    assert bench.states(ids) == ["cancelled"]
