"""A worker in another language, written from the page of the protocol, on the real database."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from commands import environment, until
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.core.audit import By
from workbench import SessionFor, Workbench

SOURCE = Path(__file__).parents[2] / "examples" / "node-worker"
PATIENCE = 60.0

pytestmark = pytest.mark.skipif(
    shutil.which("npm") is None and "CI" not in os.environ, reason="there is no Node.js here"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with its package installed."""
    made = tmp_path_factory.mktemp("node") / "worker"
    shutil.copytree(SOURCE, made, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=made, check=True)
    return made


@pytest.fixture
def bench(database: str, session_for: SessionFor) -> Workbench:
    bench = Workbench(database, session_for)
    bench.line(lease=timedelta(seconds=5))
    return bench


def address(dsn: str) -> dict[str, str]:
    """The variables by which libpq, and the package `pg` after it, find the database."""
    given = psycopg.conninfo.conninfo_to_dict(dsn)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    return {names[key]: str(value) for key, value in given.items() if key in names}


@pytest.fixture
def worker(folder: Path, bench: Workbench) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        ["node", "main.js"],
        cwd=folder,
        env=environment(POLL_MS="100", **address(bench.dsn)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_jobs_are_completed_retried_and_discarded(
    bench: Workbench, worker: subprocess.Popen[str]
) -> None:
    (greet,) = bench.enqueue("greet", payload={"name": "Ada"})
    (flaky,) = bench.enqueue("flaky")
    (hopeless,) = bench.enqueue("flaky", payload={"hopeless": True})
    wanted = ["completed", "completed", "dead"]
    until(lambda: bench.states([greet, flaky, hopeless]) == wanted, "all end", PATIENCE)
    job = bench.queue.job(flaky)
    assert job is not None
    assert job.attempt == 2
    dead = bench.queue.job(hopeless)
    assert dead is not None
    assert (dead.error_class, dead.error) == ("Discard", "no customer in the payload")
    worker.send_signal(signal.SIGTERM)
    out, _ = worker.communicate(timeout=PATIENCE)
    said = json.loads(out.splitlines()[0])
    greeted = bench.queue.job(greet)
    assert greeted is not None
    assert (said["greeted"], said["key"]) == ("Ada", greeted.key)
    assert worker.returncode == 0


def test_a_lease_is_kept_for_longer_than_it_lasts_and_given_up_when_told(
    bench: Workbench, worker: subprocess.Popen[str]
) -> None:
    (long,) = bench.enqueue("slow", payload={"ms": 12_000})
    (doomed,) = bench.enqueue("slow", payload={"ms": 600_000})
    until(lambda: bench.states([long, doomed]) == ["leased"] * 2, "both run", PATIENCE)
    PostgresControls(bench.session).cancel(doomed, By("mia", "it does harm now"))
    until(lambda: bench.states([long, doomed]) == ["completed", "cancelled"], "end", PATIENCE)
    assert bench.counted("cronledger_leases_expired_total") == {}
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE) == 0
    _, logged = worker.communicate()
    outcomes = {json.loads(line)["outcome"] for line in logged.splitlines()}
    assert outcomes == {"completed", "cancelled"}
