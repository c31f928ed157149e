"""Effects with receipts while workers are killed: each happens once, nothing is lost or stuck."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from commands import PROGRAM, environment, until
from workbench import SessionFor, Workbench

TABLES = """
    create table public.calls (key text);
    create table public.effects (idempotency_key text primary key, key text);
    create table public.paid (key text);
"""
PATIENCE = 60.0


@dataclass
class Crowd:
    """Worker processes of the real command line over one database."""

    bench: Workbench
    processes: list[subprocess.Popen[bytes]]

    def start(self, concurrency: int = 4) -> subprocess.Popen[bytes]:
        arguments = ["work", "--app", "receipts_app:app", "--concurrency", str(concurrency),
                     "--database", self.bench.dsn]  # fmt: skip
        made = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=Path(__file__).parent,
            stderr=subprocess.DEVNULL,
            env=environment(DRILL_DSN=self.bench.dsn),
        )
        self.processes.append(made)
        return made

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(PATIENCE)


@pytest.fixture
def crowd(database: str, session_for: SessionFor) -> Iterator[Crowd]:
    bench = Workbench(database, session_for)
    bench.rows(TABLES)
    fast = timedelta(milliseconds=50)
    bench.line(lease=timedelta(seconds=5), backoff_base=fast, backoff_cap=2 * fast)
    crowd = Crowd(bench, [])
    yield crowd
    crowd.end()


def count(bench: Workbench, query: str) -> int:
    (row,) = bench.rows(f"select count(*)::int as n from ({query}) x")
    return int(row["n"])


def unfinished(bench: Workbench) -> int:
    return count(
        bench,
        "select job_id from cronledger.ready union all select job_id from cronledger.deferred"
        " union all select job_id from cronledger.lease",
    )


def finished(bench: Workbench) -> Callable[[], bool]:
    return lambda: unfinished(bench) == 0


def test_the_walk_a_dies_after_its_effect_and_b_acknowledges_without_a_second(
    crowd: Crowd,
) -> None:
    bench = crowd.bench
    (id_,) = bench.enqueue("dies-after-commit")
    first = crowd.start(1)
    assert first.wait(PATIENCE) == -signal.SIGKILL
    assert bench.states([id_]) == ["leased"]
    crowd.start(1)
    until(finished(bench), "everything is finished", PATIENCE)
    assert bench.states([id_]) == ["completed"]
    assert count(bench, "table public.calls") == 1
    (job,) = bench.rows("select attempt from cronledger.jobs")
    assert job["attempt"] == 2


def test_q152_a_that_wakes_late_is_refused_and_b_has_done_it_under_the_same_key(
    crowd: Crowd,
) -> None:
    bench = crowd.bench
    (id_,) = bench.enqueue("sleeps-before-commit")
    sleeper = crowd.start(1)
    until(lambda: count(bench, "table public.calls") == 1, "the first call", PATIENCE)
    second = crowd.start(1)
    until(lambda: bench.states([id_]) == ["completed"], "it is completed", PATIENCE)
    os.kill(sleeper.pid, signal.SIGCONT)
    for process in (sleeper, second):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    # Asked twice, done once; and what counts is the receipt of the second.
    assert count(bench, "table public.calls") == 2
    assert count(bench, "table public.effects") == 1
    (receipt,) = bench.rows("select result, state, attempt from cronledger.effect")
    assert tuple(receipt.values()) == ({"paid by attempt": 2}, "committed", 2)
    assert bench.states([id_]) == ["completed"]


@pytest.mark.parametrize(
    ("jobs", "seconds"), [(400, 8), pytest.param(20_000, 120, marks=pytest.mark.slow)]
)
def test_effects_happen_once_while_workers_are_killed_at_random(
    crowd: Crowd, jobs: int, seconds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    bench, draw, pause = crowd.bench, random.Random(jobs), Event()
    ids = bench.enqueue("outside", jobs // 2, max_attempts=100)
    ids += bench.enqueue("inside", jobs // 2, max_attempts=100)
    living = [crowd.start() for _ in range(2)]
    kills, ends = 0, monotonic() + seconds
    while monotonic() < ends:
        pause.wait(draw.uniform(1.5, 3.5))
        victim = draw.randrange(len(living))
        living[victim].kill()
        living[victim] = crowd.start()
        kills += 1
    until(finished(bench), "everything is finished", 300)
    proof = {
        "jobs": len(ids),
        "kills": kills,
        "leases that expired": sum(bench.counted("cronledger_leases_expired_total").values()),
        "completed": count(bench, "select 1 from cronledger.outcome where state = 'completed'"),
        "unfinished": unfinished(bench),
        "effects at the provider": count(bench, "table public.effects"),
        "keys with an effect": count(bench, "select distinct key from public.effects"),
        "calls of the provider": count(bench, "table public.calls"),
        "receipts committed": count(
            bench, "select 1 from cronledger.effect where state = 'committed'"
        ),
        "rows of our own": count(bench, "table public.paid"),
        "keys with a row": count(bench, "select distinct key from public.paid"),
    }
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"  {name:<26} {n:>8,}\n" for name, n in proof.items()))
    half = jobs // 2
    assert (proof["completed"], proof["unfinished"]) == (jobs, 0)
    assert (proof["effects at the provider"], proof["keys with an effect"]) == (half, half)
    assert proof["receipts committed"] == half
    assert (proof["rows of our own"], proof["keys with a row"]) == (half, half)
    assert kills > 0
