"""Everything through a real PgBouncer in transaction mode, with fewer server sessions than ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from commands import until
from crew import Crew
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.zones import PinnedZones
from cronledger.core.audit import By
from cronledger.core.events import Attempted, Lifecycle, LoopFailed
from cronledger.worker import JobContext, Retry
from ledgers import World
from workbench import SessionFor, Workbench

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
PORT = 6432
CONFIG = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr =
listen_port = {ours}
unix_socket_dir = {folder}
logfile = {folder}/log
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
"""

pytestmark = pytest.mark.skipif(
    PROGRAM is None and "CI" not in os.environ, reason="there is no pgbouncer here"
)


@pytest.fixture
def pooled(database: str) -> Iterator[str]:
    """The database, reached through a pool of two server sessions."""
    given = psycopg.conninfo.conninfo_to_dict(database)
    assert PROGRAM is not None
    with TemporaryDirectory(prefix="cl-pool-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # it refuses to run as root, and writes its socket there
        config = folder / "pgbouncer.ini"
        config.write_text(
            CONFIG.format(
                host=given["host"],
                port=given.get("port", 5432),
                user=given["user"],
                ours=PORT,
                folder=folder,
            )
        )
        config.chmod(0o644)
        user = ["-u", "postgres"] if os.getuid() == 0 else []
        with subprocess.Popen([PROGRAM, "-q", *user, str(config)]) as process:
            socket = folder / f".s.PGSQL.{PORT}"
            until(socket.exists, "pgbouncer listens")
            yield psycopg.conninfo.make_conninfo(
                host=name, port=PORT, user=str(given["user"]), dbname=str(given["dbname"])
            )
            process.terminate()


def test_q080_ticks_workers_and_hands_need_no_session_of_their_own(
    pooled: str, session_for: SessionFor
) -> None:
    crew = Crew(pooled)
    zones = PinnedZones()

    def work(job: JobContext) -> None:
        with job.write_once("mail") as effect:
            if effect.should_run:
                effect.commit({"attempt": job.attempt})
        if job.attempt == 1:
            raise Retry(after=timedelta(0))

    world = World(session_for(pooled), zones)
    for _ in range(8):  # more often than a statement would have to be run to be prepared
        world.load("m: cron: '* * * * *', job: {kind: work}")
        world.tick()
    workers = [crew.make({"work": work}) for _ in range(3)]
    for worker in workers:
        crew.start(worker)
    bench = Workbench(pooled, session_for)
    ids = bench.enqueue(jobs=30)
    crew.seen.wait_for(Attempted, 60)
    until(lambda: bench.states(ids) == ["completed"] * 30, "all end", 60)
    (late,) = bench.enqueue("nobody")
    PostgresControls(session_for(pooled)).cancel(late, By("mia", "nobody runs it"))
    assert bench.states([late]) == ["cancelled"]
    assert {row["state"] for row in bench.rows("table cronledger.effect")} == {"committed"}
    crew.dismiss()


def test_a_worker_behind_it_says_once_that_it_only_polls_and_works(
    pooled: str, database: str, session_for: SessionFor
) -> None:
    crew = Crew(pooled)
    crew.start(crew.make({"work": lambda job: None}, wakeups=crew.wakeups()))
    told = crew.seen.told("worker_polls_only")
    assert "a pooler stands between" in told
    assert told.endswith("it looks for jobs every 0.05 s")
    bench = Workbench(database, session_for)
    ids = bench.enqueue(jobs=5)
    crew.seen.wait_for(Attempted, 5)
    assert bench.states(ids) == ["completed"] * 5
    said = [e.what for e in crew.seen.events if isinstance(e, Lifecycle)]
    assert said == ["worker_started", "worker_polls_only"]
    assert not [e for e in crew.seen.events if isinstance(e, LoopFailed)]
    # Nothing was left behind in a session that is somebody else's next.
    with psycopg.connect(pooled, autocommit=True) as one, psycopg.connect(pooled) as two:
        two.execute("select 1")  # keeps one of the two server sessions
        for connection in (one, two):
            assert connection.execute("select pg_listening_channels()").fetchall() == []
    crew.dismiss()
