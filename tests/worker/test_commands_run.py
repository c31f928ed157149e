"""Commands as jobs: their environment, their output, their exit status, and how they are ended."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from crew import PATIENCE, Crew
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.core.audit import By
from cronledger.core.events import Attempted
from cronledger.core.lifecycle import Job
from cronledger.worker.command import KIND, OUTPUT_MAX, Command
from workbench import Workbench

ENVIRON = {**os.environ, "CRONLEDGER_DATABASE_URL": "postgresql://u:secret@h/d"}


@pytest.fixture
def runner(bench: Workbench, session_for: Callable[..., Session]) -> Command:
    return Command(PostgresQueue(session_for(bench.dsn)), ENVIRON)


def run(bench: Workbench, crew: Crew, runner: Command, **payload: Any) -> Job:
    """The job of one command once it has ended."""
    (id_,) = bench.enqueue(KIND, payload=payload, max_attempts=1)
    crew.make({KIND: runner}).run_until_idle()
    job = bench.queue.job(id_)
    assert job is not None
    return job


def test_a_command_knows_what_it_is_run_for_and_no_secret_of_ours(
    bench: Workbench, crew: Crew, runner: Command
) -> None:
    job = run(
        bench, crew, runner, command="env; cat", environment={"MAILTO": "ops"}, stdin="one\ntwo\n"
    )
    assert (job.state, job.exit_status) == ("completed", 0)
    lines = dict(line.partition("=")[::2] for line in str(job.output).splitlines() if "=" in line)
    assert lines["CRONLEDGER_KEY"] == job.key
    assert job.key.endswith(lines["CRONLEDGER_LOGICAL_TIME"])
    assert (lines["CRONLEDGER_ATTEMPT"], lines["CRONLEDGER_JOB_ID"]) == ("1", str(job.id))
    assert json.loads(lines["CRONLEDGER_PAYLOAD"])["command"] == "env; cat"
    assert lines["MAILTO"] == "ops"
    assert str(job.output).endswith("one\ntwo\n")
    assert "secret" not in str(job.output)


def test_a_list_is_a_program_and_its_arguments(
    bench: Workbench, crew: Crew, runner: Command
) -> None:
    job = run(bench, crew, runner, command=["printf", "%s|", "$HOME", "a b"])
    assert job.output == "$HOME|a b|"


FAILED = "cronledger.worker.command.CommandFailed"


@pytest.mark.parametrize(
    ("text", "error_class", "said"),
    [
        ("exit 75", "retry", "exit status 75"),
        ("echo gone; exit 100", "discard", "gone"),
        ("echo broken >&2; exit 3", FAILED, "exit status 3: broken"),
        ("kill -SEGV $$", FAILED, "killed by SIGSEGV"),
    ],
)
def test_the_exit_status_decides(
    bench: Workbench, crew: Crew, runner: Command, text: str, error_class: str, said: str
) -> None:
    job = run(bench, crew, runner, command=text)
    assert (job.state, job.error_class) == ("dead", error_class)
    assert str(job.error).startswith(said)


def test_a_program_that_is_not_there_is_said_to(
    bench: Workbench, crew: Crew, runner: Command
) -> None:
    job = run(bench, crew, runner, command=["/no/such/program"])
    assert "cannot start '/no/such/program'" in str(job.error)
    assert run(bench, crew, runner).error_class == "discard"


def test_of_a_flood_of_output_the_end_is_kept(
    bench: Workbench, crew: Crew, runner: Command
) -> None:
    job = run(bench, crew, runner, command="yes | head -c 50000000; printf '\\377\\0end'")
    assert len(str(job.output).encode()) <= OUTPUT_MAX + 16
    assert str(job.output).endswith("y\n\ufffd\\0end")


def test_a_grandchild_that_left_its_group_holds_up_nobody(
    bench: Workbench, crew: Crew, runner: Command
) -> None:
    began = monotonic()
    job = run(bench, crew, runner, command="setsid sleep 30 & echo done")
    assert (job.state, job.output) == ("completed", "done\n")
    assert monotonic() - began < 20


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def pids(folder: Path, count: int) -> list[int]:
    """Those that the command wrote down, once it has."""
    end, pause = monotonic() + PATIENCE, threading.Event()
    while monotonic() < end:
        found = [int(file.read_text()) for file in folder.iterdir() if file.read_text().strip()]
        if len(found) == count:
            return found
        pause.wait(0.02)
    raise AssertionError("the command never began")


TREE = "echo $$ > {0}/parent; (trap '' TERM; echo $BASHPID > {0}/child; sleep 60) & wait"


@pytest.mark.parametrize("how", ["cancel", "timeout", "stop"])
def test_whatever_ends_the_attempt_ends_the_whole_group(
    bench: Workbench, crew: Crew, runner: Command, tmp_path: Path, how: str
) -> None:
    bench.line(lease=timedelta(seconds=5))
    timeout = timedelta(seconds=2 if how == "timeout" else 600)
    tree = ["bash", "-c", TREE.format(tmp_path)]
    (id_,) = bench.enqueue(KIND, payload={"command": tree}, max_attempts=1, timeout=timeout)
    worker = crew.make({KIND: runner})
    thread = crew.start(worker)
    found = pids(tmp_path, 2)
    if how == "cancel":
        PostgresControls(bench.session).cancel(id_, By("mia", "it does harm now"))
    if how == "stop":
        worker.stop()
        worker.stop()
        thread.join(PATIENCE)
    else:
        crew.seen.wait_for(Attempted)
    end, pause = monotonic() + PATIENCE, threading.Event()
    while any(map(alive, found)) and monotonic() < end:
        pause.wait(0.05)
    assert not any(map(alive, found))
