"""The sidecar as a process: it ticks on time, tells what it knows, survives what happens."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from psycopg import sql

from commands import PROGRAM, environment, until
from cronledger.adapters.postgres.prune import PostgresPrune
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from ledgers import World, file_text
from sidecars import Running

SECONDLY = "s: cron: {expr: '* * * * * *', fields: 6s}, catchup: {policy: all, window: P1D}"
YEARLY = "t: cron: '0 0 1 1 *'"
PROMPT = timedelta(seconds=2)  # a busy test machine is slow, a sidecar that sleeps is slower


@pytest.fixture
def world(database: str, session_for: Callable[..., Session], zones: PinnedZones) -> World:
    """A ledger by the real clock."""
    return World(session_for(database), zones)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schedules.yaml"
    path.write_text(file_text(SECONDLY), encoding="utf-8")
    return path


@pytest.fixture
def run(file: Path, database: str) -> Iterator[Callable[[], Running]]:
    """Starts sidecars; those that still run are killed at the end."""
    started: list[Running] = []

    def start() -> Running:
        started.append(Running(file, database))
        return started[-1].serves()

    yield start
    for running in started:
        running.end(signal.SIGKILL)


def rows(world: World) -> list[dict[str, object]]:
    return world.sql(
        "select logical_time, recorded_at - logical_time as lateness from cronledger.occurrences"
        " where schedule = 's' order by logical_time"
    )


def holes(world: World) -> list[dict[str, object]]:
    """Seconds between the first and the last record that have none."""
    return world.sql(
        "select g from generate_series((select min(logical_time) from cronledger.occurrences),"
        " (select max(logical_time) from cronledger.occurrences), interval '1 s') g"
        " except select logical_time from cronledger.occurrences"
    )


def wait_for_rows(world: World, count: int) -> None:
    until(lambda: len(rows(world)) >= count, f"{count} occurrences")


Run = Callable[[], Running]


def test_it_ticks_when_keys_are_due_and_ends_at_once_when_told(run: Run, world: World) -> None:
    sidecar = run()
    wait_for_rows(world, 4)
    began = monotonic()
    assert sidecar.end() == 0
    assert monotonic() - began < 5
    assert holes(world) == []
    late = [row["lateness"] for row in rows(world)]
    assert all(isinstance(span, timedelta) and span < PROMPT for span in late), late


def test_it_ends_on_an_interrupt_as_well(run: Run) -> None:
    assert run().end(signal.SIGINT) == 0


def test_it_serves_its_metrics_and_its_health(run: Run, world: World) -> None:
    sidecar = run()
    wait_for_rows(world, 1)
    until(lambda: sidecar.get("/-/ready").status_code == 200, "ready")
    assert sidecar.get("/-/healthy").text == "healthy\n"
    assert sidecar.get("/-/ready").json() == {"schema_version": 1, "ready": True, "reasons": []}
    until(lambda: sidecar.metric("cronledger_occurrences_recorded_total"), "a count")
    assert sidecar.metric("cronledger_database_up") == 1
    assert sidecar.metric("cronledger_config_last_reload_successful") == 1
    until(lambda: sidecar.metric("cronledger_schedule_missing_occurrences") == 0, "a reconcile")


@pytest.mark.parametrize("told", [True, False], ids=["by a signal", "by looking"])
def test_a_changed_file_is_loaded_and_a_broken_one_is_not(
    run: Run, world: World, file: Path, told: bool
) -> None:
    sidecar = run()
    wait_for_rows(world, 1)
    good = file.read_text()

    def write(text: str) -> None:
        file.write_text(text)
        if told:
            sidecar.send(signal.SIGHUP)

    write("version: 1\nschedules:\n  s: {cron: '99 * * * *'}\n")
    assert "99" in sidecar.hears(r"reload.*failed.*").string
    until(lambda: sidecar.metric("cronledger_config_last_reload_successful") == 0, "it is told")
    before = len(rows(world))
    wait_for_rows(world, before + 2)
    write(file_text(SECONDLY, YEARLY))
    sidecar.hears(r"reloaded")
    until(lambda: sidecar.metric("cronledger_config_last_reload_successful") == 1, "it is told")
    until(lambda: world.sql("select 1 as x from cronledger.schedule where name = 't'"), "opened")
    write(good)
    until(
        lambda: world.sql(
            "select 1 as x from cronledger.schedule_version v join cronledger.schedule s"
            " on s.id = v.schedule_id where name = 't' and effective_to is not null"
        ),
        "ended",
    )
    assert sidecar.end() == 0
    assert holes(world) == []


def test_a_file_that_goes_away_leaves_the_old_one_in_force(
    run: Run, world: World, file: Path
) -> None:
    sidecar = run()
    wait_for_rows(world, 1)
    file.unlink()
    sidecar.send(signal.SIGHUP)
    sidecar.hears("no such file")
    wait_for_rows(world, len(rows(world)) + 2)
    assert sidecar.end() == 0


def test_killed_and_started_again_it_loses_nothing(run: Run, world: World) -> None:
    first = run()
    wait_for_rows(world, 2)
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    before = len(rows(world))
    until(
        lambda: world.sql(
            "select 1 as x where now() > (select max(logical_time) + interval '2 s'"
            " from cronledger.occurrence)"
        ),
        "keys fall due while nobody looks",
    )
    second = run()
    wait_for_rows(world, before + 3)
    assert second.end() == 0
    assert holes(world) == []
    assert world.counted("cronledger_occurrences_recorded_total") == len(rows(world))
    assert world.counted("cronledger_jobs_created_total") == len(rows(world))


def test_two_of_them_record_each_key_once(run: Run, world: World) -> None:
    both = [run(), run()]
    before = len(rows(world))
    wait_for_rows(world, before + 4)
    assert [sidecar.end() for sidecar in both] == [0, 0]
    assert holes(world) == []
    assert world.counted("cronledger_jobs_created_total") == len(rows(world))


def cut_off(admin_dsn: str, name: str, allowed: bool) -> None:
    """Let nobody connect to the database any more, or let them again."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute(
            sql.SQL("alter database {} allow_connections {}").format(
                sql.Identifier(name), sql.Literal(allowed)
            )
        )
        if not allowed:
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
                (name,),
            )


def test_obs48_a_database_that_goes_and_comes_back_needs_no_restart(
    run: Run, world: World, embedded_dsn: str
) -> None:
    sidecar = run()
    wait_for_rows(world, 1)
    until(lambda: sidecar.metric("cronledger_database_up") == 1, "up")
    (row,) = world.sql("select current_database() as name")
    cut_off(embedded_dsn, row["name"], allowed=False)
    try:
        until(lambda: sidecar.metric("cronledger_database_up") == 0, "down is told")
        assert sidecar.get("/-/ready").status_code == 503
        assert sidecar.get("/-/healthy").status_code == 200
        sidecar.hears("loop_failed")
    finally:
        cut_off(embedded_dsn, row["name"], allowed=True)
    until(lambda: sidecar.metric("cronledger_database_up") == 1, "up again", 60)
    world.session.close()  # it was cut off too
    wait_for_rows(world, len(rows(world)) + 2)
    until(lambda: sidecar.get("/-/ready").status_code == 200, "ready again")
    for loop in ("tick", "measure", "reconcile"):
        until(
            lambda loop=loop: any(  # type: ignore[misc]  # bound now, called now
                f'"loop_recovered", "loop": "{loop}"' in said for said in sidecar.said
            ),
            f"the recovery of {loop} is said",
        )
    assert sidecar.end() == 0
    assert holes(world) == []
    failed = [json.loads(line) for line in sidecar.said if '"loop_failed"' in line]
    told = [(line["loop"], line["error"]) for line in failed]
    assert len(told) == len(set(told)), "a repeat within a minute was said"
    back = [json.loads(line) for line in sidecar.said if '"loop_recovered"' in line]
    ended = sum(line["failures_before"] for line in back)
    assert ended == len(failed) + sum(line.get("suppressed", 0) for line in failed + back)


def test_a_database_that_is_away_at_the_start_is_an_error_at_once(file: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "run", str(file), "--listen", "127.0.0.1:0",
         "--database", "postgresql://127.0.0.1:1/x"],
        capture_output=True, text=True, check=False, timeout=30, env=environment(),
    )  # fmt: skip
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_an_address_that_is_taken_is_refused(run: Run, file: Path, database: str) -> None:
    sidecar = run()
    port = sidecar.address.rpartition(":")[2]
    done = subprocess.run(
        [*PROGRAM, "run", str(file), "--listen", f"127.0.0.1:{port}", "--database", database],
        capture_output=True, text=True, check=False, timeout=30, env=environment(),
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


def test_nothing_is_decided_when_the_address_is_taken(
    run: Callable[[], Running], file: Path, database: str, world: World
) -> None:
    first = run()
    before = world.sql("select count(*) as n from cronledger.schedule_version")[0]["n"]
    file.write_text(file_text(SECONDLY, YEARLY), encoding="utf-8")
    port = first.address.rpartition(":")[2]
    done = subprocess.run(
        [*PROGRAM, "run", str(file), "--listen", f"127.0.0.1:{port}", "--database", database],
        capture_output=True, text=True, timeout=30, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "versions_noted" not in done.stderr
    assert before == 1


def test_schedules_that_another_file_ended_are_told_of(
    run: Callable[[], Running], tmp_path: Path, database: str, world: World
) -> None:
    sidecar = run()
    until(lambda: sidecar.get("/-/ready").status_code == 200, "it is ready")
    world.load("other: cron: '0 0 1 1 *'")
    sidecar.hears("schedules_disputed")
    until(lambda: sidecar.get("/-/ready").status_code == 503, "it is not ready")
    assert "another file ended schedules of ours" in sidecar.get("/-/ready").text
    until(lambda: sidecar.metric("cronledger_config_last_reload_successful") == 0, "it says so")


def test_it_drops_old_days_and_makes_those_to_come(run: Run, world: World, file: Path) -> None:
    world.at("2026-01-05T00:00:30")
    PostgresPrune(world.session).make_days()
    world.load(YEARLY)
    file.write_text(file_text(YEARLY), encoding="utf-8")
    run()

    def days() -> set[str]:
        return {f"{row['day']}"[:6] for row in world.sql("select cronledger.days() as day")}

    today = datetime.now(UTC)
    coming = {f"{today + timedelta(days=ahead):%y%m%d}" for ahead in range(1, 4)}
    until(lambda: "260105" not in days() and coming <= days(), "the days of the retention")
