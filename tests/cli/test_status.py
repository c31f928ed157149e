"""`status` over a real ledger, by the real clock."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from commands import PROGRAM, Cli, environment, process
from cronledger.adapters.postgres.migrate import roles_script
from ledgers import World, file_text

SCHEDULES = ("report: cron: '* * * * *'", "yearly: cron: '0 0 1 1 *'")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "schedules.yaml"
    path.write_text(file_text(*SCHEDULES), encoding="utf-8")
    return path


def ago(**span: float) -> datetime:
    return datetime.now(UTC) - timedelta(**span)


@pytest.fixture
def late(world: World, file: Path) -> World:
    """Everything was loaded two hours ago; nobody has looked since."""
    world.at(ago(hours=2)).load(*SCHEDULES)
    return world


def test_a_fresh_ledger_is_well(cli: Cli, file: Path, database: str) -> None:
    assert cli("tick", file, "--database", database).code == 0
    done = cli("status", "--database", database)
    assert (done.code, done.err) == (0, "")
    (line,) = done.out.splitlines()
    counts = "0 missing, 0 dead, 0 leased by 0 workers; last tick 0s ago"
    assert f"nothing is wrong, and no sidecar has looked yet; {counts}" in line
    assert line.endswith("last reconcile never")


def test_all_is_well_where_a_sidecar_looks(
    cli: Cli, file: Path, database: str, world: World
) -> None:
    cli("tick", file, "--database", database)
    world.ledger.reconciled()
    done = cli("status", "--database", database)
    assert (done.code, done.err) == (0, "")
    assert "all is well; 0 missing" in done.out


def test_what_is_missing_stands_first_with_its_command_and_exit_1(
    cli: Cli, late: World, database: str
) -> None:
    late.at(ago(minutes=90)).tick()
    late.at(ago(minutes=1)).ledger.reconciled()
    done = cli("status", "--database", database)
    assert done.code == 1
    head, first, second, *_, hint, other, last = done.out.splitlines()
    assert head.split() == ["KIND", "NAME", "STATE", "AGE", "OBJECTIVE", "WHAT"]
    assert first.startswith("schedule  report   missing")
    assert "unfinished beyond its objective" in first
    assert second.startswith("queue     default  behind")
    assert hint == "report: cronledger reconcile report"
    assert other == "default: cronledger jobs list --queue default"
    assert "2 of 4 need attention" in last
    assert cli("reconcile", "report", "--database", database).code == 1
    assert cli("jobs", "list", "--queue", "default", "--database", database).code == 0


def test_machines_get_every_line_and_a_summary(cli: Cli, late: World, database: str) -> None:
    late.at(ago(minutes=90)).tick()
    late.ledger.reconciled()
    done = cli("status", "--database", database, "-o", "json", "--silent-after", "1h")
    assert done.code == 1
    lines, summary = done.json["status"], done.json["summary"]
    assert [(line["kind"], line["state"]) for line in lines] == [
        ("sidecar", "silent"),
        ("schedule", "missing"),
        ("queue", "behind"),
        ("schedule", "fine"),
    ]
    assert summary["wrong"] == 3
    assert 80 <= summary["missing"] <= 90
    assert 5000 < lines[1]["age_seconds"] < 5500
    assert lines[2]["objective_seconds"] == 3600
    assert cli("status", "--database", database, "--lookback", "1m", "-o", "json").code == 1


def test_workers_leases_dead_letters_and_budgets_are_counted(
    cli: Cli, late: World, file: Path, database: str
) -> None:
    late.load(*SCHEDULES, queues="queues: {default: {retry_budget: 60, objective: P9D}}\n")
    late.at(ago(minutes=118)).tick()
    claimed = late.sql("select job_id from cronledger.claim('{default}', '{k}', 1, 'w1')")
    assert claimed
    done = cli("status", "--database", database, "-o", "json").json
    assert done["summary"]["retry_budgets"] == {"default": {"per_minute": 60, "used": 0}}
    # That lease ended two hours ago, and nobody has taken it back.
    assert done["summary"]["workers"] == 0
    (queue,) = [line for line in done["status"] if line["kind"] == "queue"]
    assert queue["state"] == "lease expired"
    assert (done["summary"]["leased"], done["summary"]["lease_expired"]) == (0, 1)
    assert "1 past their end" in cli("status", "--database", database).out


def test_a_pause_is_noted_and_is_not_wrong(cli: Cli, file: Path, database: str) -> None:
    cli("tick", file, "--database", database)
    cli("queue", "pause", "default", "--reason", "provider down", "--actor", "ann",
        "--database", database)  # fmt: skip
    done = cli("status", "--database", database)
    assert done.code == 0
    assert "paused by ann: provider down" in done.out
    assert "nothing is wrong, 1 paused; 0 missing" in done.out


def test_without_a_file_it_says_what_it_cannot_know(
    cli: Cli, late: World, database: str, tmp_path: Path
) -> None:
    (tmp_path / "schedules.yaml").unlink()
    done = cli("status", "--database", database)
    assert done.code == 1
    assert "no schedules.yaml here" in done.err
    assert "schedule  report  missing" in done.out
    assert cli("status", "other.yaml", "--database", database).code == 2


def test_an_observer_may_look(cli: Cli, late: World, database: str) -> None:
    late.session.script(roles_script())
    observer = psycopg.conninfo.make_conninfo(database, options="-c role=cronledger_observer")
    done = cli("status", "--database", observer)
    assert (done.code, "missing" in done.out) == (1, True), done.err


def test_a_database_that_is_away_is_no_verdict(file: Path) -> None:
    assert process("status", file, "--database", "postgresql://127.0.0.1:1/x").code == 3


@pytest.fixture
def watching(late: World, file: Path, database: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*PROGRAM, "status", str(file), "--watch", "--every", "1s", "--database", database],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    ) as running:  # fmt: skip
        yield running
        running.kill()


def test_watch_looks_again_until_it_is_interrupted(
    watching: subprocess.Popen[str], world: World, cli: Cli, file: Path, database: str
) -> None:
    assert watching.stdout is not None
    seen = []
    for line in watching.stdout:
        seen.append(line)
        if "attention" in line:
            break
    assert any("missing" in line for line in seen)
    assert "\033" not in "".join(seen)
    done = cli("backfill", file, "--since", "3h", "--apply", "--reason", "filled by the test",
               "--database", database)  # fmt: skip
    assert done.code == 0
    for line in watching.stdout:
        if " 0 missing" in line:
            break
    os.kill(watching.pid, signal.SIGINT)
    assert watching.wait(20) == 130
