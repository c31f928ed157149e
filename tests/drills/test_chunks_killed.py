"""Chunks while workers are killed: each completes once, and what follows them comes once, after."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from chunks_app import CHUNKS

from commands import PROGRAM, environment, until
from workbench import SessionFor, Workbench

PATIENCE = 90.0
DEATHS = 2


class Crowd:
    """Worker processes of the real command line over one database."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        made = subprocess.Popen(
            [*PROGRAM, "work", "--app", "chunks_app:app", "--database", self.bench.dsn],
            cwd=Path(__file__).parent,
            stderr=subprocess.DEVNULL,
            env=environment(DRILL_DSN=self.bench.dsn),
        )
        self.processes.append(made)
        return made

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(PATIENCE)


@pytest.fixture
def crowd(database: str, session_for: SessionFor) -> Iterator[Crowd]:
    bench = Workbench(database, session_for)
    bench.rows("create table public.ran (key text); create table public.splits (attempt int)")
    soon = timedelta(milliseconds=50)
    bench.line(lease=timedelta(seconds=4), backoff_base=soon, backoff_cap=2 * soon)
    crowd = Crowd(bench)
    yield crowd
    crowd.end()


def count(bench: Workbench, query: str) -> int:
    (row,) = bench.rows(f"select count(*)::int as n from ({query}) x")
    return int(row["n"])


def test_chunks_and_what_follows_them_happen_once_while_workers_are_killed(crowd: Crowd) -> None:
    bench = crowd.bench
    (id_,) = bench.enqueue("split", payload={"deaths": DEATHS}, max_attempts=100)
    # First whoever splits dies, after it has sealed and before it completes.
    for deaths in range(1, DEATHS + 1):
        first = crowd.start()
        until(lambda n=deaths: count(bench, "table public.splits") >= n, "it has split", PATIENCE)  # type: ignore[misc]  # a number bound early
        first.kill()
    # Then whoever runs the chunks.
    living = [crowd.start() for _ in range(2)]
    done = count(bench, "table public.ran")
    step = (CHUNKS - done) // 5  # so that some are left after the last of them
    for victim in (0, 1, 0):
        done += step
        until(lambda n=done: count(bench, "table public.ran") >= n, "they run", PATIENCE)  # type: ignore[misc]  # a number bound early
        living[victim].kill()
        living[victim] = crowd.start()
    finished = "select 1 from cronledger.outcome where state = 'completed'"
    assert count(bench, finished) < CHUNKS + 2, "nobody was killed in the middle"
    until(lambda: count(bench, finished) == CHUNKS + 2, "all has completed", PATIENCE)
    assert count(bench, "table public.ran") == CHUNKS + 1
    assert count(bench, "select distinct key from public.ran") == CHUNKS + 1
    assert count(bench, "select 1 from cronledger.job where kind = 'part'") == CHUNKS
    assert count(bench, "select 1 from cronledger.job where kind = 'report'") == 1
    (row,) = bench.rows("select state, total, completed, then_id from cronledger.chunk_sets")
    assert (row["state"], row["total"], row["completed"]) == ("completed", CHUNKS, CHUNKS)
    (last,) = bench.rows(
        "select (select max(finished_at) from cronledger.chunks where set_id = %(id)s)"
        " <= claimed_at as after from cronledger.jobs where id = %(then)s",
        id=id_,
        then=row["then_id"],
    )
    assert last["after"]
