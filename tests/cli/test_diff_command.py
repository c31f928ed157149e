"""`diff` as a reviewer sees it: text, Markdown, JSON, and its exit codes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cronledger.cli.app import run

OLD = """version: 1
queues: {mail: {max_attempts: 3}}
schedules:
  nightly: {cron: "30 2 * * *", timezone: Europe/Berlin}
  gone: {cron: "0 9 * * 1"}
  kept: {cron: "0 9 * * *"}
"""
NEW = """version: 1
queues: {mail: {max_attempts: 5}}
schedules:
  nightly: {cron: "0 4 * * *", timezone: Europe/Berlin}
  come: {cron: "*/5 9 * * *"}
  kept: {cron: "0 9 * * *", grace: PT9M, pause: [{from: 2027-01-01, reason: "a | b"}]}
"""
WINDOW = ["--from", "2027-01-04", "--to", "2027-01-06"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "new.yaml").write_text(NEW)
    return tmp_path


pytestmark = pytest.mark.usefixtures("files")


def test_every_difference_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.yaml", "new.yaml", *WINDOW]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == [
        "gone: removed; keys: 1 removed",
        "  removed  gone:2027-01-04T09:00:00Z",
        "nightly: changed; keys: 2 moved",
        "  moved    nightly:2027-01-04T01:30:00Z -> 2027-01-04T03:00:00Z",
        "  moved    nightly:2027-01-05T01:30:00Z -> 2027-01-05T03:00:00Z",
    ]
    assert "  setting  cron: 30 2 * * * -> 0 4 * * *" in lines
    assert "come: added; keys: 24 added" in lines
    assert "  added    and 14 more; -o json lists all" in lines
    assert "kept: changed; no key moves" in lines
    assert "  setting  grace: PT5M -> PT9M" in lines
    assert "  setting  pause: none -> 1 entry" in lines
    assert lines[-3:-1] == ["queue mail: changed", "  setting  max_attempts: 3 -> 5"]
    assert lines[-1].endswith(
        "schedules: 1 removed, 1 added, 2 changed; keys: 1 removed, 24 added, 2 moved"
    )


def test_no_difference_exits_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.yaml", "old.yaml", *WINDOW]) == 0
    assert capsys.readouterr().out.endswith("no difference\n")


def test_without_a_window_it_is_the_next_thirty_days(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.yaml", "new.yaml", "-o", "json"]) == 1
    window = json.loads(capsys.readouterr().out)["window"]
    first, last = (datetime.fromisoformat(window[end]) for end in ("from", "to"))
    assert last - first == timedelta(days=30)


def test_markdown_has_a_table_and_folds_the_keys_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.yaml", "new.yaml", *WINDOW, "-o", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "| `nightly` | changed | 0 | 0 | 2 | `cron: 30 2 * * * -> 0 4 * * *` |" in out
    assert "| queue `mail` | changed | - | - | - | `max_attempts: 3 -> 5` |" in out
    assert out.count("<details>") == out.count("</details>") == 3
    rows = [line for line in out.splitlines() if line.startswith("|")]
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1


def test_json_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.yaml", "new.yaml", *WINDOW, "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    edits = {edit["schedule"]: edit for edit in found["edits"]}
    assert found["schema_version"] == 1
    assert found["window"] == {"from": "2027-01-04T00:00:00Z", "to": "2027-01-06T00:00:00Z"}
    assert len(edits["come"]["added"]) == 24
    assert edits["nightly"]["moved"][0] == {
        "from": "nightly:2027-01-04T01:30:00Z",
        "to": "nightly:2027-01-04T03:00:00Z",
    }
    assert found["queues"][0]["settings"] == [{"name": "max_attempts", "old": "3", "new": "5"}]


def test_a_file_that_is_invalid_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "new.yaml").write_text(NEW.replace("0 4", "0 44"))
    assert run(["diff", "old.yaml", "new.yaml", *WINDOW]) == 2
    assert capsys.readouterr().err.startswith("new.yaml:4:")


def test_a_window_that_runs_backwards_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    backwards = ["--from", "2027-01-06", "--to", "2027-01-04"]
    assert run(["diff", "old.yaml", "new.yaml", *backwards]) == 2
    assert "swap the two" in capsys.readouterr().err


def test_a_window_of_more_than_two_years_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    window = ["--from", "2027-01-06", "--to", "2030-01-06"]
    assert run(["diff", "old.yaml", "new.yaml", *window]) == 2
    assert "give a shorter span" in capsys.readouterr().err
