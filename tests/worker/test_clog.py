"""Handlers that hang past their timeouts are many, and then no more are started."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import threading
from datetime import timedelta

import pytest

from crew import PATIENCE, Crew
from cronledger.adapters.observe.logs import log_events
from cronledger.core.events import Attempted, Lifecycle
from cronledger.errors import RefusedError
from cronledger.worker import JobContext
from cronledger.worker.clog import Clog, abandoned_max
from workbench import Workbench

BRIEF = timedelta(milliseconds=150)


class Hanging:
    """A handler that hears nothing until it is let go."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.begun = 0
        self._lock = threading.Lock()

    def __call__(self, job: JobContext) -> None:
        with self._lock:
            self.begun += 1
        self.release.wait(PATIENCE)


@pytest.mark.parametrize(("concurrency", "most"), [(1, 10), (3, 10), (5, 10), (6, 12), (50, 100)])
def test_the_bound_is_two_for_each_slot_and_ten_at_least(concurrency: int, most: int) -> None:
    assert abandoned_max(concurrency) == most


def test_a_worker_whose_handlers_hang_stops_claiming_and_goes_on_when_they_end(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(backoff_base=timedelta(hours=1))
    hanging, passes = Hanging(), threading.Semaphore(0)

    def note(call: str) -> None:
        if call == "rescue":
            passes.release()

    hung = bench.enqueue(jobs=10, timeout=BRIEF)
    waiting = bench.enqueue(jobs=4)
    soon = timedelta(milliseconds=20)
    worker = crew.make({"work": hanging}, concurrency=5, before=note, poll=soon, rescue=soon)
    crew.start(worker)
    clogged = crew.seen.told("worker_clogged")
    while passes.acquire(blocking=False):
        pass
    for _ in range(5):
        assert passes.acquire(timeout=PATIENCE)
    assert hanging.begun == 10
    # Though there is more to claim, it does not spin.
    assert worker._patience(until_idle=False) == soon
    assert bench.states(hung + waiting) == ["retrying"] * 10 + ["eligible"] * 4
    assert "10 handlers run past their timeout; claims nothing until fewer than 10" in clogged
    hanging.release.set()
    assert "claims again" in crew.seen.told("worker_unclogged")
    crew.seen.wait_for(Attempted, 14)
    assert bench.states(waiting) == ["completed"] * 4
    words = [e.what for e in crew.seen.events if isinstance(e, Lifecycle)]
    assert (words.count("worker_clogged"), words.count("worker_unclogged")) == (1, 1)


def test_a_clogged_burst_ends_and_leaves_the_rest_to_the_next(bench: Workbench, crew: Crew) -> None:
    bench.line(backoff_base=timedelta(hours=1))
    hanging = Hanging()
    bench.enqueue(jobs=10, timeout=BRIEF)
    waiting = bench.enqueue(jobs=2)
    worker = crew.make({"work": hanging}, concurrency=5)
    with pytest.raises(RefusedError, match="10 handlers hang past their timeouts"):
        worker.run_until_idle()
    assert bench.states(waiting) == ["eligible"] * 2
    assert "0 attempts left to expire, 10 handlers still running" in crew.seen.told(
        "worker_stopped"
    )
    hanging.release.set()


def test_coroutines_that_will_not_be_cancelled_count_as_well(bench: Workbench, crew: Crew) -> None:
    release = threading.Event()

    async def hang(job: JobContext) -> None:
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    bench.line(backoff_base=timedelta(hours=1))
    bench.enqueue(jobs=10, timeout=BRIEF)
    waiting = bench.enqueue(jobs=2)
    crew.start(crew.make({"work": hang}, concurrency=5))
    crew.seen.told("worker_clogged")
    assert bench.states(waiting) == ["eligible"] * 2
    release.set()
    crew.seen.told("worker_unclogged")
    crew.seen.wait_for(Attempted, 12)
    assert bench.states(waiting) == ["completed"] * 2


def test_a_worker_that_stops_says_that_none_of_its_handlers_runs(
    bench: Workbench, crew: Crew
) -> None:
    async def work(job: JobContext) -> None: ...

    bench.enqueue("work", jobs=3)
    bench.enqueue("also", jobs=3)
    crew.make({"work": work, "also": lambda job: None}).run_until_idle()
    assert "0 handlers still running" in crew.seen.told("worker_stopped")


def test_a_clog_is_told_when_it_changes_and_as_a_warning() -> None:
    out = io.StringIO()
    clog = Clog("w-1", 6, log_events(stream=out))
    for abandoned in (0, 11, 12, 18, 12, 11, 11):
        clog.look(abandoned)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [
        ("worker_clogged", "warning"),
        ("worker_unclogged", "info"),
    ]
