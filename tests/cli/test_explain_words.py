"""`explain` in words, with every clock change, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cronledger.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(text: str, zone: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["explain", "--cron", text, "--tz", zone]) == 0
    return capsys.readouterr().out.splitlines()


def test_an_expression_is_said_with_every_clock_change(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained("30 2 * * *", "Europe/Berlin", capsys)
    assert lines[:2] == [
        "expression: 30 2 * * * in Europe/Berlin",
        "  runs           at 02:30 every day",
    ]
    changes = [line for line in lines if line.startswith("  clock change   ")]
    # Two years hold two or three of each, as the calendar falls.
    assert sum("does not exist" in line for line in changes) >= 2
    assert sum("comes twice" in line for line in changes) >= 2


def test_fields_are_shown_where_no_sentence_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained("*/7 * * * *", "UTC", capsys)
    assert "  minute         */7" in lines
    assert lines[-1] == "  within 2 years no clock change touches a time of day that it asks for"


def test_json_has_the_words_and_the_clock_changes(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explain", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "-o", "json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["words"] == "at 02:30 every day"
    assert {change["fate"] for change in found["clock_changes"]} == {"moved", "first"}
    assert all(change["at"].endswith("T01:00:00Z") for change in found["clock_changes"])
    assert len(found["occurrences"]) >= 3
