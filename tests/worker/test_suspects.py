"""A job that may have killed its worker twice runs with nothing beside it."""

from __future__ import annotations

import threading
from datetime import timedelta

from commands import until
from crew import PATIENCE, Crew
from cronledger.core.lifecycle import Settlement
from cronledger.worker import JobContext
from cronledger.worker.pool import Worker
from workbench import Workbench


class Passes:
    """Counts the passes of a worker."""

    def __init__(self, worker: Worker) -> None:
        self.count = 0
        once = worker._pass

        def counted() -> Exception | None:
            self.count += 1
            return once()

        worker._pass = counted  # type: ignore[method-assign]  # to see it from outside


def suspect(bench: Workbench) -> int:
    """A job whose lease ended twice, a while ago."""
    (id_,) = bench.enqueue("suspect")
    bench.rows(
        "update cronledger.ready set expiries = 2, eligible_at = eligible_at - interval '2 min'"
        " where job_id = %(id)s returning 1",
        id=id_,
    )
    return id_


def test_a_worker_ends_what_it_runs_before_it_begins_a_suspect(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(lease=timedelta(seconds=6))
    running, most, begun = [0], [0], threading.Event()
    counting, go_on = threading.Lock(), threading.Event()

    def work(job: JobContext) -> None:
        with counting:
            running[0] += 1
            most[0] = max(most[0], running[0]) if job.kind == "suspect" else most[0]
        begun.set()
        if job.kind == "work":
            assert go_on.wait(PATIENCE)
        with counting:
            running[0] -= 1

    bench.enqueue(jobs=2)
    worker = crew.make({"work": work, "suspect": work})
    crew.start(worker)
    assert begun.wait(PATIENCE)
    id_ = suspect(bench)
    until(lambda: bench.states([id_]) == ["leased"], "the suspect is leased")
    go_on.set()
    until(lambda: bench.states([id_]) == ["completed"], "the suspect is completed")
    assert most == [1]  # nothing ran beside it


def test_a_worker_that_stops_hands_back_a_suspect_that_has_not_begun(
    bench: Workbench, crew: Crew
) -> None:
    go_on, begun = threading.Event(), threading.Event()

    def work(_: JobContext) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    bench.enqueue()
    worker = crew.make({"work": work, "suspect": work})
    thread = crew.start(worker)
    assert begun.wait(PATIENCE)
    id_ = suspect(bench)
    until(lambda: bench.states([id_]) == ["leased"], "the suspect is leased")
    worker.stop()
    go_on.set()
    thread.join(PATIENCE)
    job = bench.queue.job(id_)
    assert job is not None
    assert (job.state, job.attempt) == ("eligible", 0)


def test_a_worker_waits_for_its_suspect_and_does_not_spin(bench: Workbench, crew: Crew) -> None:
    go_on, begun = threading.Event(), threading.Event()

    def work(_: JobContext) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    id_ = suspect(bench)
    worker = crew.make({"suspect": work}, poll=timedelta(hours=1))
    clock = Passes(worker)
    crew.start(worker)
    assert begun.wait(PATIENCE)
    go_on.set()
    until(lambda: bench.states([id_]) == ["completed"], "the suspect is completed")
    assert clock.count < 10


def test_run_until_idle_leaves_no_suspect_and_nothing_behind_it(
    bench: Workbench, crew: Crew
) -> None:
    id_ = suspect(bench)
    ids = bench.enqueue(jobs=6)
    crew.make({"work": lambda _: None, "suspect": lambda _: None}).run_until_idle()
    assert bench.states([id_, *ids]) == ["completed"] * 7
    assert [s for _, s, _ in crew.seen.attempts()] == [Settlement.COMPLETED] * 7
