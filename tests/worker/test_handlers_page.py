"""The page on handlers: its examples run, and it names all that a handler gets."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands import Cli
from crew import Crew
from cronledger.adapters.observe.logs import line_of
from cronledger.core.events import Attempted
from cronledger.core.lifecycle import Settlement
from cronledger.worker import JobContext
from cronledger.worker.clog import abandoned_max
from workbench import Workbench

PAGE = (Path(__file__).parents[2] / "docs" / "handlers.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What all Python of the page defines, run from top to bottom."""
    found: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "handlers.md", "exec"), found)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder with the first example; what is imported from it is forgotten."""
    path = list(sys.path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schedules.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "jobs.py").write_text(blocks("python")[0])
    sys.modules.pop("jobs", None)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("jobs", None)


def test_the_page_names_every_public_member_of_the_context() -> None:
    members = [name for name in dir(JobContext) if not name.startswith("_")]
    assert len(members) >= 13
    assert [name for name in members if not re.search(rf"`job\.{name}\b", PAGE)] == []


def test_the_page_names_every_error_class_of_our_own() -> None:
    for name in ("timeout", "retry", "discard", "lease_lost", "lease_expired"):
        assert f"`{name}` |" in PAGE or f"| `{name}`" in PAGE, name


def test_the_page_states_the_bound_of_hanging_handlers() -> None:
    assert "`max(10, 2 * concurrency)`" in PAGE
    assert [abandoned_max(n) for n in (1, 40)] == [10, 80]


def test_the_first_example_runs_as_the_page_says(folder: Path, database: str, cli: Cli) -> None:
    lines = blocks("console")[0].splitlines()
    commands = [shlex.split(line)[2:] for line in lines if line.startswith("$ cronledger")]
    assert [command[0] for command in commands] == ["migrate", "tick", "trigger", "trigger", "work"]
    for command in commands:
        done = cli(*command, "--database", database)
        assert done.code == 0, done.err
    said = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    attempts = [line for line in said if line["event"] == "attempt"]
    assert {(line["kind"], line["outcome"]) for line in attempts} == {
        ("report", "completed"),
        ("ping-partner", "completed"),
    }


def test_a_run_by_hand_is_for_the_moment_when_it_was_ordered(
    folder: Path, database: str, cli: Cli
) -> None:
    (folder / "jobs.py").write_text(
        "app = {'ping-partner': lambda job: print(job.key, job.logical_time.isoformat())}"
    )
    to = ("--database", database)
    assert cli("tick", "schedules.yaml", *to).code == 0
    before = datetime.now(UTC) - timedelta(seconds=1)  # a logical time has whole seconds
    assert cli("trigger", "schedules.yaml", "ping-partner", "--reason", "first try", *to).code == 0
    after = datetime.now(UTC)
    done = cli("work", "--app", "jobs:app", "--until-idle", *to)
    key, time = done.out.split()
    assert key.startswith("ping-partner!")
    assert before <= datetime.fromisoformat(time) <= after


def test_every_handler_of_the_page_ends_as_it_says(
    bench: Workbench, crew: Crew, names: dict[str, Any]
) -> None:
    app = names["app"]
    assert set(app) == {
        *("report", "ping-partner", "pages", "pages@2", "charge", "mirror", "pay-out", "invoice"),
        *("reindex", "reindex-rows", "reindex-report"),
    }
    bench.rows("create table public.account (balance int); insert into public.account values (100)")
    for kind in ("report", "ping-partner", "mirror", "pay-out", "invoice", "reindex"):
        bench.enqueue(kind, payload={"format": "pdf"})
    bench.enqueue("charge")
    bench.enqueue("charge", payload={"customer": 7}, timeout=timedelta(minutes=1))
    bench.enqueue("pages", schema_version=2, payload={"pages": [1, 2]})
    crew.make(app).run_until_idle()
    ended = {
        (event.lease.kind, event.settlement, event.error_class)
        for event in crew.seen.wait_for(Attempted, 13)
    }
    assert ended == {
        ("report", Settlement.COMPLETED, None),
        ("pay-out", Settlement.COMPLETED, None),
        ("invoice", Settlement.COMPLETED, None),
        ("ping-partner", Settlement.COMPLETED, None),
        ("mirror", Settlement.COMPLETED, None),
        ("pages", Settlement.COMPLETED, None),
        ("reindex", Settlement.COMPLETED, None),
        ("reindex-rows", Settlement.COMPLETED, None),
        ("reindex-report", Settlement.COMPLETED, None),
        ("charge", Settlement.DEAD, "discard"),
        ("charge", Settlement.RETRYING, "retry"),
    }


def test_the_log_line_of_the_page_has_the_fields_of_a_real_one(
    bench: Workbench, crew: Crew
) -> None:
    bench.enqueue()
    crew.make({"work": lambda job: None}).run_until_idle()
    (event,) = crew.seen.wait_for(Attempted)
    _, _, fields = line_of(event)
    (shown,) = map(json.loads, blocks("json"))
    assert list(shown) == ["ts", "level", "event", *fields, "worker"]


def test_the_plain_dict_of_the_page_is_a_set_of_handlers(
    bench: Workbench, crew: Crew, names: dict[str, Any]
) -> None:
    ids = bench.enqueue("cleanup")
    crew.make(names["plain"]).run_until_idle()
    assert bench.states(ids) == ["completed"]


def test_the_rows_of_the_page_commit_once_however_often_its_handler_runs(
    bench: Workbench, crew: Crew, names: dict[str, Any]
) -> None:
    bench.rows("create table public.account (balance int); insert into public.account values (100)")
    fails = iter([True, False])

    def pay_out(job: JobContext) -> None:
        names["app"]["pay-out"](job)
        if next(fails, False):
            raise LookupError("after the commit")

    bench.enqueue()
    crew.make({"work": pay_out}).run_until_idle()
    assert bench.rows("table public.account") == [{"balance": 90}]
