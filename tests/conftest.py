"""Real servers for the tests: an embedded PostgreSQL 18 per run, one database per test.

CRONLEDGER_TEST_DATABASE_URL names a second server (the machine's own); tests that ask for
`any_database` run on both.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from commands import Cli
from crew import Crew
from cronledger.adapters.postgres import migrate
from cronledger.adapters.postgres.embedded import EmbeddedServer
from cronledger.adapters.postgres.ledger import PostgresLedger
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from ledgers import World
from workbench import Workbench

_NUMBERS = count()


@pytest.fixture(scope="session")
def zones() -> PinnedZones:
    return PinnedZones()


@pytest.fixture(scope="session")
def embedded_dsn() -> Iterator[str]:
    """One server for the whole run, shared by all its worker processes."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
    folder = Path(tempfile.gettempdir()) / f"cronledger-tests-{os.getuid()}-{run}"
    server = EmbeddedServer(folder)
    yield server.start()
    server.leave()
    if not (folder / "data" / "postmaster.pid").exists():
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def machine_dsn() -> str:
    dsn = os.environ.get("CRONLEDGER_TEST_DATABASE_URL", "")
    if not dsn:
        assert not os.environ.get("CI"), "CI must set CRONLEDGER_TEST_DATABASE_URL"
        pytest.skip("CRONLEDGER_TEST_DATABASE_URL names no second server")
    return dsn


def _with_database(dsn: str, name: str) -> str:
    return psycopg.conninfo.make_conninfo(dsn, dbname=name)


def _administer(dsn: str, text: str, *names: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL(text).format(*map(sql.Identifier, names)))


def _template(dsn: str) -> str:
    """A migrated database that tests copy; made once per server and process."""
    name = f"cl_template_{os.getpid()}"
    _administer(dsn, "create database {}", name)
    session = Session(_with_database(dsn, name), "tests")
    migrate.migrate(session)
    session.script(Path(__file__).with_name("clock.sql").read_text(encoding="utf-8"))
    session.close()
    return name


@pytest.fixture(scope="session")
def embedded_template(embedded_dsn: str) -> Iterator[str]:
    name = _template(embedded_dsn)
    yield name
    _administer(embedded_dsn, "drop database {} with (force)", name)


@pytest.fixture(scope="session")
def machine_template(machine_dsn: str) -> Iterator[str]:
    name = _template(machine_dsn)
    yield name
    _administer(machine_dsn, "drop database {} with (force)", name)


def _copy(dsn: str, template: str) -> Iterator[str]:
    name = f"cl_test_{os.getpid()}_{next(_NUMBERS)}"
    _administer(dsn, "create database {} template {}", name, template)
    yield _with_database(dsn, name)
    _administer(dsn, "drop database {} with (force)", name)


@pytest.fixture
def database(embedded_dsn: str, embedded_template: str) -> Iterator[str]:
    """The connection string of a fresh, migrated database on PostgreSQL 18."""
    yield from _copy(embedded_dsn, embedded_template)


@pytest.fixture(scope="module")
def module_database(embedded_dsn: str, embedded_template: str) -> Iterator[str]:
    """As `database`, for the tests of one file together."""
    yield from _copy(embedded_dsn, embedded_template)


@pytest.fixture(params=["embedded", "machine"])
def any_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """As `database`, on PostgreSQL 18 and then on the machine's own server."""
    dsn = request.getfixturevalue(f"{request.param}_dsn")
    yield from _copy(dsn, request.getfixturevalue(f"{request.param}_template"))


@pytest.fixture
def session_for() -> Iterator[Callable[..., Session]]:
    """Makes sessions that are closed at the end of the test; settings go to the server."""
    made: list[Session] = []

    def make(dsn: str, **settings: str) -> Session:
        session = Session(dsn, "tests", {f"cronledger.{k}": v for k, v in settings.items()})
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


@pytest.fixture
def ledger(database: str, session_for: Callable[..., Session]) -> PostgresLedger:
    return PostgresLedger(session_for(database))


@pytest.fixture
def queue(database: str, session_for: Callable[..., Session]) -> PostgresQueue:
    return PostgresQueue(session_for(database))


@pytest.fixture
def world(database: str, session_for: Callable[..., Session], zones: PinnedZones) -> World:
    """A ledger whose clock the test sets."""
    return World(session_for(database), zones)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs commands in this process."""
    return Cli(capsys)


@pytest.fixture
def empty_database(embedded_dsn: str) -> Iterator[str]:
    """A database in which nobody has ever migrated anything."""
    yield from _copy(embedded_dsn, "template0")


@pytest.fixture
def bench(database: str, session_for: Callable[..., Session]) -> Workbench:
    return Workbench(database, session_for)


@pytest.fixture
def crew_of() -> Iterator[Callable[[str], Crew]]:
    """Makes the workers of a database."""
    made: list[Crew] = []

    def make(dsn: str) -> Crew:
        made.append(Crew(dsn))
        return made[-1]

    yield make
    for crew in made:
        crew.dismiss()


@pytest.fixture
def crew(database: str, crew_of: Callable[[str], Crew]) -> Crew:
    return crew_of(database)
