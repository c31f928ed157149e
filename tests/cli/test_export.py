"""`init` and `export schema`: the schema beside the file, its copy, and what is compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cronledger.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_writes_a_file_that_editors_complete(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init"]) == 0
    first = (folder / "schedules.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=./schedules.schema.json"
    assert run(["export", "schema", "--check", "schedules.schema.json"]) == 0
    assert run(["check", "--strict"]) == 0
    assert "schedules.yaml: 3 schedules, valid" in capsys.readouterr().out


def test_init_leaves_a_schema_that_is_there(folder: Path) -> None:
    (folder / "schedules.schema.json").write_text("mine")
    assert run(["init"]) == 0
    assert (folder / "schedules.schema.json").read_text() == "mine"
    assert run(["init", "--force"]) == 0
    assert (folder / "schedules.schema.json").read_text() != "mine"


def test_the_schema_goes_to_stdout_or_to_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "schema"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed)["$schema"].endswith("2020-12/schema")
    assert run(["export", "schema", "-o", "s.json"]) == 0
    assert (folder / "s.json").read_text() == printed


def test_a_copy_that_is_not_current_exits_with_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "s.json").write_text("{}")
    assert run(["export", "schema", "--check", "s.json"]) == 1
    assert "write it anew (-o s.json)" in capsys.readouterr().err
    assert run(["export", "schema", "--check", "none.json"]) == 2


def test_the_schema_of_reports_is_published_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = Path(__file__).parents[2] / "docs" / "report.schema.json"
    assert run(["export", "report-schema", "--check", str(copy)]) == 0, capsys.readouterr().err
