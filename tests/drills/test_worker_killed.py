"""Drills with real worker processes: killed, paused past its lease, told to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pytest

from commands import until
from workbench import SessionFor, Workbench

SCRIPT = Path(__file__).parents[1] / "worker" / "one_worker.py"
STALE = "cronledger_stale_completions_rejected_total"
EXPIRED = "cronledger_leases_expired_total"
PATIENCE = 60.0


class Lines:
    """What a process writes to a pipe, as a test can wait for it."""

    def __init__(self, pipe: IO[str]) -> None:
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            with self._changed:
                self._lines.append(line.strip())
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, wanted: Callable[[str], bool]) -> str:
        """The first such line."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or any(map(wanted, self._lines)), PATIENCE)
            found = [line for line in self._lines if wanted(line)]
            assert found, f"it said only {self._lines}"
            return found[0]


class Process:
    """A worker process."""

    def __init__(self, dsn: str, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT), dsn, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin = self._process.stdin
        self.said = Lines(self._process.stdout)
        self.logged = Lines(self._process.stderr)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def let_the_handler_end(self) -> None:
        self._stdin.write("\n")
        self._stdin.flush()

    def attempt(self, outcome: str) -> dict[str, Any]:
        """The log line of the attempt that ended so."""
        line = self.logged.wait_for(
            lambda text: '"event": "attempt"' in text and f'"outcome": "{outcome}"' in text
        )
        fields: dict[str, Any] = json.loads(line)
        return fields

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe
            pipe.close()


@pytest.fixture
def bench(any_database: str, session_for: SessionFor) -> Workbench:
    bench = Workbench(any_database, session_for)
    # Longer than a disk that others keep busy may stand still.
    bench.line(lease=timedelta(seconds=5), backoff_base=timedelta(milliseconds=50))
    return bench


@pytest.fixture
def start(bench: Workbench) -> Iterator[Callable[[str], Process]]:
    made: list[Process] = []

    def start(name: str) -> Process:
        made.append(Process(bench.dsn, name))
        return made[-1]

    yield start
    for process in made:
        process.end()


def began(attempt: int) -> Callable[[str], bool]:
    return lambda line: line == f"began {attempt}"


def test_q001_what_a_killed_worker_held_is_completed_by_another_as_attempt_two(
    bench: Workbench, start: Callable[[str], Process]
) -> None:
    (id_,) = bench.enqueue()
    first = start("first")
    first.said.wait_for(began(1))
    lease = bench.rows("select * from cronledger.lease")[0]
    first.signal(signal.SIGKILL)
    second = start("second")
    second.said.wait_for(began(2))
    second.let_the_handler_end()
    line = second.attempt("completed")
    assert (line["job_id"], line["attempt"], line["worker"]) == (id_, 2, "second")
    job = bench.queue.job(id_)
    assert job is not None
    assert (job.state, job.attempt, job.worker) == ("completed", 2, "second")
    assert bench.counted(EXPIRED) == {("default", "work"): 1}
    # What the first would have said, had it lived: its token settles nothing any more.
    late = bench.rows(
        "select cronledger.complete(%(ids)s, %(tokens)s) as id", ids=[id_], tokens=[lease["token"]]
    )
    assert late == []
    assert bench.counted(STALE) == {("default", "work"): 1}
    assert bench.counted("cronledger_jobs_finished_total") == {("default", "work", "completed"): 1}


def test_the_late_completion_of_a_worker_that_slept_past_its_lease_is_refused_and_counted(
    bench: Workbench, start: Callable[[str], Process]
) -> None:
    (id_,) = bench.enqueue()
    sleeper = start("sleeper")
    sleeper.said.wait_for(began(1))
    sleeper.signal(signal.SIGSTOP)
    # Its handler's end waits in the pipe, and arrives as soon as the process wakes.
    sleeper.let_the_handler_end()
    second = start("second")
    second.said.wait_for(began(2))
    second.let_the_handler_end()
    second.attempt("completed")
    second.signal(signal.SIGTERM)
    assert second.wait() == 0
    sleeper.signal(signal.SIGCONT)
    line = sleeper.attempt("stale")
    assert (line["job_id"], line["attempt"], line["worker"]) == (id_, 1, "sleeper")
    job = bench.queue.job(id_)
    assert job is not None
    assert (job.state, job.attempt, job.worker) == ("completed", 2, "second")
    # Barred by its own watchdog, or refused by the fence: which comes first is chance.
    asked = 0 if line["error_class"] == "lease_lost" else 1
    assert sum(bench.counted(STALE).values()) == asked
    sleeper.signal(signal.SIGTERM)
    assert sleeper.wait() == 0


def test_q010_of_two_workers_with_one_name_only_the_dead_one_loses_its_lease(
    bench: Workbench, start: Callable[[str], Process]
) -> None:
    first_id, second_id = bench.enqueue(jobs=2)
    first = start("app")
    first.said.wait_for(began(1))
    second = start("app")
    second.said.wait_for(began(1))
    taken = {row["job_id"] for row in bench.rows("select job_id from cronledger.lease")}
    assert taken == {first_id, second_id}
    first.signal(signal.SIGKILL)
    until(lambda: bench.counted(EXPIRED), "a lease has expired", PATIENCE)
    second.let_the_handler_end()  # it holds its own, and goes on with that of the dead one
    second.said.wait_for(began(2))
    second.let_the_handler_end()
    until(lambda: bench.states([first_id, second_id]) == ["completed"] * 2, "both", PATIENCE)
    assert bench.counted(EXPIRED) == {("default", "work"): 1}


def test_q025_a_worker_that_drains_takes_nothing_from_its_successor(
    bench: Workbench, start: Callable[[str], Process]
) -> None:
    (first_id,) = bench.enqueue()
    old = start("app")
    old.said.wait_for(began(1))
    old.signal(signal.SIGTERM)
    old.logged.wait_for(lambda line: "worker_draining" in line)
    (second_id,) = bench.enqueue()
    new = start("app")
    new.said.wait_for(began(1))
    new.let_the_handler_end()
    assert new.attempt("completed")["job_id"] == second_id
    old.let_the_handler_end()
    assert old.attempt("completed")["job_id"] == first_id
    assert old.wait() == 0
    assert bench.counted(STALE) == {}


def test_a_worker_that_is_told_to_stop_ends_its_job_first(
    bench: Workbench, start: Callable[[str], Process]
) -> None:
    ids = bench.enqueue(jobs=2)
    worker = start("worker")
    worker.said.wait_for(began(1))
    worker.signal(signal.SIGTERM)
    worker.let_the_handler_end()
    worker.attempt("completed")
    assert worker.wait() == 0
    assert bench.states(ids) == ["completed", "eligible"]


def test_a_worker_that_is_told_twice_leaves_its_job_to_the_next(
    bench: Workbench, start: Callable[[str], Process]
) -> None:
    (id_,) = bench.enqueue()
    worker = start("worker")
    worker.said.wait_for(began(1))
    worker.signal(signal.SIGTERM)
    # Two signals at once would be one.
    worker.logged.wait_for(lambda line: '"event": "worker_draining"' in line)
    worker.signal(signal.SIGTERM)
    worker.logged.wait_for(lambda line: '"event": "worker_stopped"' in line)
    second = start("second")
    second.said.wait_for(began(2))
    second.let_the_handler_end()
    assert second.attempt("completed")["job_id"] == id_
