"""Connections: no password is ever said, an absence is told at once, a loss is made good."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import pytest

from commands import Cli, process
from cronledger.adapters.postgres.session import Session
from cronledger.errors import RefusedError, StoreError

CANARY = "sw0rdfish"
NOWHERE = "127.0.0.1:1"
LEAKY = [
    f"postgresql://u:{CANARY}@{NOWHERE}/db",
    f"postgres+psycopg://u:{CANARY}@{NOWHERE}/db",
    f"postgresql://u:a@b/{CANARY}@{NOWHERE}/db",
    f"postgresql://u:{CANARY}@x@{NOWHERE}/db",
    f"postgresql://u:{CANARY}/x@{NOWHERE}/db",
    f"postgresql://u:x:{CANARY}@{NOWHERE}/db",
    f"postgresql://u:{CANARY}:x@{NOWHERE}/db",
    f"postgresql://u:/{CANARY}@{NOWHERE}/db",
    f"postgresql://u:?{CANARY}@{NOWHERE}/db",
    f"postgresql://u:%40{CANARY}@{NOWHERE}/db%zz",
    f"postgresql://{NOWHERE}/db?password={CANARY}&bogus=1",
    f"host=127.0.0.1 port=1 password={CANARY}",
    f"host=127.0.0.1 port=1 password='it is {CANARY}",
    f"host=127.0.0.1 port=1 password='it is {CANARY}' bogus=1",
    f"host=127.0.0.1 port=1 password=it is {CANARY}",
    f"password=a {CANARY} b host=127.0.0.1 port=1",
    f"password = {CANARY} host=127.0.0.1 port=1 bogus",
    f"mysql://u:{CANARY}@h/db",
]


@pytest.mark.parametrize("dsn", LEAKY)
def test_no_message_holds_any_part_of_a_password(dsn: str) -> None:
    session = Session(dsn, "tests")
    with pytest.raises(StoreError) as refused:
        session.run("now")
    assert CANARY not in str(refused.value)
    assert str(refused.value).startswith("database: ")


@pytest.mark.parametrize("dsn", LEAKY[:4])
def test_no_command_says_a_password(dsn: str) -> None:
    answer = process("jobs", "list", "--database", dsn)
    assert (answer.code, answer.out) == (3, "")
    assert CANARY not in answer.err
    assert "Traceback" not in answer.err


def test_a_refused_login_does_not_say_the_password(database: str) -> None:
    session = Session(f"{database} user=nobody_here password={CANARY}", "tests")
    with pytest.raises(StoreError, match="nobody_here") as refused:
        session.run("now")
    assert CANARY not in str(refused.value)


def test_a_database_that_is_not_there_is_told_at_once(cli: Cli) -> None:
    began = monotonic()
    answer = cli("jobs", "list", "--database", f"postgresql://{NOWHERE}/db")
    assert answer.code == 3
    assert "refused" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert monotonic() - began < 5


def terminate(session: Session, other: Session) -> None:
    (row,) = session.script("select pg_backend_pid() as pid")
    other.script("select pg_terminate_backend(%(pid)s)", {"pid": row["pid"]})
    while other.script("select 1 from pg_stat_activity where pid = %(pid)s", {"pid": row["pid"]}):
        pass


def test_a_connection_that_was_cut_fails_once_and_is_made_again(
    database: str, session_for: Callable[..., Session]
) -> None:
    session, other = session_for(database), session_for(database)
    terminate(session, other)
    with pytest.raises(StoreError) as lost:
        session.run("now")
    assert lost.value.sqlstate in {"57P01", ""}
    assert session.run("now")


def test_a_transaction_that_was_cut_is_lost_whole(
    database: str, session_for: Callable[..., Session]
) -> None:
    session, other = session_for(database), session_for(database)
    text = "update cronledger.ledger set reconciled_at = now()"

    def change() -> None:
        with session.transaction():
            session.script(text)
            terminate(session, other)
            session.script(text)

    with pytest.raises(StoreError):
        change()
    assert other.run("snapshot_ledger") == [{"reconciled_at": None}]
    session.script(text)
    assert other.run("snapshot_ledger") != [{"reconciled_at": None}]


def test_a_transaction_inside_another_is_part_of_it(
    database: str, session_for: Callable[..., Session]
) -> None:
    session = session_for(database)

    def change() -> None:
        with session.transaction():
            with session.transaction():
                session.run("reconciled")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change()
    assert session.run("snapshot_ledger") == [{"reconciled_at": None}]


@pytest.mark.parametrize("statement", ["snapshot_ledger", "now"])
def test_a_missing_table_means_that_migrations_are(
    empty_database: str, session_for: Callable[..., Session], statement: str
) -> None:
    with pytest.raises(RefusedError, match="cronledger migrate"):
        session_for(empty_database).run(statement)


def test_a_session_names_itself_to_the_server(database: str) -> None:
    session = Session(database, "cronledger/check")
    (row,) = session.script("select application_name from pg_stat_activity"
                            " where pid = pg_backend_pid()")  # fmt: skip
    session.close()
    assert row == {"application_name": "cronledger/check"}
    assert session.run("now"), "a closed session opens itself again"
    session.close()
