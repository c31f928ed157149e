"""`check` as people and CI see it: places, exit codes, JSON, annotations, what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cronledger.cli.app import run

TEXT = """version: 1
schedules:
  odd:
    cron: "0,*/7 9 * * *"
    catchup: {policy: none}
  fine: {cron: "0 9 * * *", catchup: {policy: none}}
"""
FINE = 'version: 1\nschedules: {fine: {cron: "0 9 * * *"}}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.yaml").write_text(TEXT)
    (tmp_path / "fine.yaml").write_text(FINE)
    (tmp_path / "bad.yaml").write_text(FINE.replace("0 9", "0 25"))
    return tmp_path


pytestmark = pytest.mark.usefixtures("folder")


def test_a_finding_is_shown_at_its_character_with_its_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["check", "odd.yaml"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("odd.yaml:4:14: odd: warning: */7 does not divide 60")
    assert first.endswith("[uneven-step]")
    assert last == "odd.yaml: 2 schedules, valid; 1 warning, 0 hints"


def test_strict_fails_on_a_warning_and_not_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "odd.yaml", "--strict"]) == 1
    assert run(["check", "fine.yaml", "--strict"]) == 0
    assert capsys.readouterr().out.endswith("fine.yaml: 1 schedule, no problem found\n")


def test_a_code_that_is_ignored_neither_shows_nor_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["check", "odd.yaml", "--strict", "--ignore", "uneven-step"]) == 0
    assert "uneven" not in capsys.readouterr().out


def test_a_code_that_does_not_exist_is_refused_with_the_one_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["check", "odd.yaml", "--ignore", "uneven-steps"]) == 2
    assert "did you mean uneven-step?" in capsys.readouterr().err


@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_an_error_stays_an_error(strict: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "bad.yaml", *strict]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("bad.yaml:2:29: fine: hour 25 is out of bounds")


def test_json_holds_findings_and_errors_alike(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "odd.yaml", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == 1
    assert found["schedules"] == 2
    (problem,) = found["problems"]
    message = problem.pop("message")
    assert message.startswith("*/7 does not divide 60")
    assert problem == {
        "file": "odd.yaml",
        "line": 4,
        "column": 14,
        "subject": "odd",
        "severity": "warning",
        "code": "uneven-step",
    }
    assert run(["check", "bad.yaml", "-o", "json"]) == 2
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["severity"], problem["code"]) == ("error", "invalid")


def test_github_gets_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "odd.yaml", "-o", "github"]) == 0
    out = capsys.readouterr().out
    start = "::warning file=odd.yaml,line=4,col=14,title=cronledger uneven-step%3A odd::*/7 does"
    assert out.startswith(start)
    assert run(["check", "bad.yaml", "-o", "github"]) == 2
    assert capsys.readouterr().out.startswith("::error file=bad.yaml,line=2,col=29,title=")


def test_what_would_end_an_annotation_is_escaped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a,b:c%.yaml"
    (folder / name).write_text('version: 1\nschedules: {a: {cron: "0 25 * * *", "x%\\ny": 1}}\n')
    assert run(["check", name, "-o", "github"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("::error file=a%2Cb%3Ac%25.yaml,line=2,") for line in lines)
    assert "x%25" in lines[1]


def test_findings_come_in_the_order_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f'  job-{n}: {{cron: "*/7 9 * * *", catchup: {{policy: none}}}}' for n in range(25)]
    (folder / "many.yaml").write_text("\n".join(["version: 1", "schedules:", *rows, ""]))
    run(["check", "many.yaml", "-o", "json"])
    problems = json.loads(capsys.readouterr().out)["problems"]
    places = [(problem["line"], problem["column"]) for problem in problems]
    assert places == sorted(places)
    assert {problem["code"] for problem in problems} == {"uneven-step", "herd"}
