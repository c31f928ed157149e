"""Migrations: applied once, by one of many, by hand or not at all; a surprise stops everything."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from commands import PROGRAM, Cli, environment
from cronledger.adapters.postgres import migrate
from cronledger.adapters.postgres.session import Session
from cronledger.errors import RefusedError
from ledgers import file_text

NAMES = [migration.name for migration in migrate.available()]
CATALOGUE = """
select 'column', table_name, column_name, data_type || is_nullable || coalesce(column_default, '')
  from information_schema.columns where table_schema = 'cronledger'
union all
select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
  from pg_constraint where connamespace = 'cronledger'::regnamespace
union all
select 'index', tablename, indexname, indexdef from pg_indexes where schemaname = 'cronledger'
union all
select 'function', proname, '', pg_get_functiondef(oid)
  from pg_proc where pronamespace = 'cronledger'::regnamespace
   and proname <> 'now'  -- tests have a clock of their own
union all
select 'option', relname, '', array_to_string(reloptions, ',')
  from pg_class where relnamespace = 'cronledger'::regnamespace
union all
select 'applied', number::text, name, checksum from cronledger.migration
order by 1, 2, 3, 4
"""


def state(dsn: str) -> list[tuple[str, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(CATALOGUE).fetchall()


def has_schema(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        found = connection.execute("select to_regnamespace('cronledger') is not null").fetchone()
    assert found is not None
    return bool(found[0])


def test_the_numbers_ascend_without_a_hole() -> None:
    assert [m.number for m in migrate.available()] == list(range(1, len(NAMES) + 1))


def test_a_fresh_database_gets_all_of_them_once(cli: Cli, empty_database: str) -> None:
    first = cli("migrate", "--database", empty_database)
    assert first.code == 0
    assert first.out.splitlines() == [f"applying {name}" for name in NAMES]
    before = state(empty_database)
    again = cli("migrate", "--database", empty_database)
    assert (again.code, again.out, again.err) == (0, "", "nothing is pending\n")
    assert state(empty_database) == before


def test_a_dry_run_only_lists_them(cli: Cli, empty_database: str) -> None:
    told = cli("migrate", "--dry-run", "--database", empty_database)
    assert told.out.splitlines() == [f"pending {name}" for name in NAMES]
    assert not has_schema(empty_database)
    assert cli("migrate", "--sql", "--database", empty_database).code == 0
    assert not has_schema(empty_database)


def test_what_sql_prints_leads_to_the_same_state(
    cli: Cli, empty_database: str, database: str, tmp_path: Path
) -> None:
    script = tmp_path / "all.sql"
    script.write_text(cli("migrate", "--sql", "--database", empty_database).out)
    subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", empty_database, "-f", script],
        check=True,
        capture_output=True,
    )
    assert state(empty_database) == state(database)
    assert cli("migrate", "--database", empty_database).err == "nothing is pending\n"


def test_a_script_that_was_applied_in_part_goes_on_where_it_stopped(
    cli: Cli, empty_database: str, database: str, session_for: Callable[..., Session]
) -> None:
    session = session_for(empty_database)
    session.script(migrate.bootstrap_script())
    for migration in migrate.available()[:2]:
        session.script(migration.script())
    told = cli("migrate", "--database", empty_database)
    assert told.out.splitlines() == [f"applying {name}" for name in NAMES[2:]]
    assert state(empty_database) == state(database)


def test_q074_many_processes_at_once_apply_each_once(empty_database: str, database: str) -> None:
    command = [*PROGRAM, "migrate", "--database", empty_database]
    running = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env=environment())
        for _ in range(5)
    ]  # fmt: skip
    said = [process.communicate(timeout=60)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 5, said
    assert state(empty_database) == state(database)


def test_a_migration_that_was_changed_afterwards_is_refused(
    cli: Cli, database: str, session_for: Callable[..., Session]
) -> None:
    session_for(database).script(
        "update cronledger.migration set checksum = 'other' where number = 2"
    )
    for command in ("migrate", "reconcile"):
        answer = cli(command, "--database", database)
        assert answer.code in {2, 4}
    answer = cli("migrate", "--database", database)
    assert answer.code == 4
    assert "0002_queue was changed" in answer.err


def test_q077_a_database_of_a_newer_program_is_refused(
    cli: Cli, database: str, session_for: Callable[..., Session]
) -> None:
    session_for(database).script(
        "insert into cronledger.migration (number, name, checksum) values (999, 'later', 'x')"
    )
    answer = cli("migrate", "--database", database)
    assert answer.code == 4
    assert "0999" in answer.err
    assert "newer" in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["tick"],
        ["reconcile"],
        ["backfill"],
        ["backfill", "--apply", "--reason", "long enough"],
        ["explain", "h:2026-03-01T00:00:00Z"],
        ["jobs", "list"],
        ["jobs", "show", "1"],
        ["run", "--listen", "127.0.0.1:0"],
        ["work", "--app", "m:o"],
    ],
    ids=" ".join,
)
def test_without_migrations_every_command_says_what_to_do(
    cli: Cli,
    empty_database: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schedules.yaml").write_text(file_text("h: cron: '0 * * * *'"))
    answer = cli(*arguments, "--database", empty_database)
    assert (answer.code, answer.out) == (4, "")
    assert "run `cronledger migrate` first" in answer.err
    assert not has_schema(empty_database)


def test_a_failing_migration_leaves_nothing_of_itself(
    empty_database: str, session_for: Callable[..., Session]
) -> None:
    session = session_for(empty_database)
    session.script("create schema cronledger; create table cronledger.occurrence (x int)")
    with pytest.raises(Exception, match=r"0001_ledger.*already exists"):
        migrate.migrate(session)
    assert session.script("select to_regclass('cronledger.schedule') as found") == [{"found": None}]
    with pytest.raises(RefusedError, match="0001_ledger"):
        migrate.check(session)
