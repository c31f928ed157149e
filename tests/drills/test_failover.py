"""The database goes away and comes back, or is read-only: the worker stays, and loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from commands import until
from crew import PATIENCE, Crew
from cronledger.adapters.postgres import migrate
from cronledger.adapters.postgres.embedded import EmbeddedServer
from cronledger.adapters.postgres.session import Session
from cronledger.core.events import LoopFailed
from cronledger.core.lifecycle import Settlement
from cronledger.worker import JobContext
from workbench import SessionFor, Workbench


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """A server of the test's own, which it may stop."""
    with TemporaryDirectory(prefix="cl-failover-") as name:
        Path(name).chmod(0o755)
        made = EmbeddedServer(Path(name) / "pg")
        made.start()
        yield made
        made.leave()


def held(bench: Workbench, crew: Crew, count: int) -> tuple[threading.Event, threading.Event]:
    """A worker whose handlers all run; the events that end them, and that say they have begun."""
    go_on, begun, running = threading.Event(), threading.Event(), list[int]()

    def work(job: JobContext) -> None:
        running.append(job.job_id)
        if len(running) >= count:
            begun.set()
        assert go_on.wait(PATIENCE * 2)

    crew.start(crew.make({"work": work}, concurrency=count))
    assert begun.wait(PATIENCE)
    return go_on, begun


def test_q085_a_worker_outlives_a_restart_of_the_database(
    server: EmbeddedServer, session_for: SessionFor, crew_of: Callable[[str], Crew]
) -> None:
    dsn = server.dsn()
    session = Session(dsn, "tests")
    migrate.migrate(session)
    session.close()
    bench, crew = Workbench(dsn, session_for), crew_of(dsn)
    bench.line(lease=timedelta(seconds=30))
    ids = bench.enqueue(jobs=4)
    go_on, _ = held(bench, crew, 4)
    bench.session.close()
    server.leave()  # the last user: the server stops, and every connection with it
    crew.seen.wait_for(LoopFailed)
    go_on.set()
    server.start()
    until(lambda: bench.states(ids) == ["completed"] * 4, "all four", PATIENCE * 2)
    assert [(n, s) for n, s, _ in crew.seen.attempts()] == [(1, Settlement.COMPLETED)] * 4
    # Each try is told with the pause that follows it, and no pause is shorter than a tenth.
    pauses = [e.delay for e in crew.seen.events if isinstance(e, LoopFailed)]
    assert min(pauses) >= timedelta(milliseconds=100)


def test_q084_a_read_only_node_is_an_error_that_passes(
    database: str, session_for: SessionFor, crew_of: Callable[[str], Crew]
) -> None:
    bench, crew = Workbench(database, session_for), crew_of(database)
    bench.line(lease=timedelta(seconds=30))
    ids = bench.enqueue(jobs=2)
    go_on, _ = held(bench, crew, 2)
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    elsewhere = psycopg.conninfo.make_conninfo(database, dbname="postgres")

    def read_only(wanted: str) -> None:
        """As after a failover: new sessions have it, and the old ones are gone."""
        with psycopg.connect(elsewhere, autocommit=True) as admin:
            admin.execute(
                psycopg.sql.SQL("alter database {} set default_transaction_read_only = {}").format(
                    psycopg.sql.Identifier(str(name)), psycopg.sql.SQL(wanted)
                )
            )
            if wanted == "on":
                admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
                    (name,),
                )

    bench.session.close()
    read_only("on")
    go_on.set()
    until(lambda: refusals(crew), "a read-only transaction was refused", PATIENCE)
    read_only("off")  # the sessions that were made meanwhile stay read-only, whoever keeps them
    until(lambda: bench.states(ids) == ["completed"] * 2, "both", PATIENCE * 2)
    assert [(n, s) for n, s, _ in crew.seen.attempts()] == [(1, Settlement.COMPLETED)] * 2


def refusals(crew: Crew) -> list[LoopFailed]:
    return [e for e in crew.seen.events if isinstance(e, LoopFailed) and e.sqlstate == "25006"]
