"""Commands that need no database, and what every command has in common."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from commands import PROGRAM, Cli, environment, process
from cronledger.cli.app import build
from ledgers import file_text

FILE = file_text("berlin: cron: '30 2 * * *', timezone: Europe/Berlin", "hourly: cron: '0 * * * *'")
WINDOW = ("--from", "2026-03-28", "--to", "2026-03-30")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schedules.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def command_paths() -> list[list[str]]:
    """Every command, with those of groups."""
    root = typer.main.get_command(build())
    found: list[list[str]] = [[]]
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]  # a group, by construction
        found.append([name])
        found += [[name, sub] for sub in sorted(getattr(command, "commands", {}))]
    return found


@pytest.mark.parametrize("path", command_paths(), ids=" ".join)
def test_every_command_explains_itself(cli: Cli, path: list[str]) -> None:
    answer = cli(*path, "--help")
    assert answer.code == 0
    assert "Usage:" in answer.out
    assert answer.err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "frobnicate"),
        (["next", "--bogus"], "--bogus"),
        (["next", "-n", "0"], "-n"),
        (["next", "-n", "many"], "-n"),
        (["next", "-o", "xml"], "xml"),
        (["jobs", "show"], "ID|KEY"),
        (["jobs", "frobnicate"], "frobnicate"),
        (["check", "a.yaml", "b.yaml"], "b.yaml"),
        (["expand"], "--from"),
        (["work"], "--app"),
        (["run", "--listen", "nowhere"], "--listen"),
        (["run", "--listen", "h:99999"], "--listen"),
        (["run", "--lookback", "soon"], "--lookback"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors_exit_with_2_and_say_what_is_wrong(
    cli: Cli, arguments: list[str], said: str
) -> None:
    answer = cli(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert said in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("arguments", [[], ["jobs"]])
def test_without_a_command_the_help_is_said(cli: Cli, arguments: list[str]) -> None:
    answer = cli(*arguments)
    assert answer.code == 2
    assert "Usage:" in answer.err


def test_what_init_writes_passes_check(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = cli("init")
    assert (written.code, written.out) == (0, "")
    assert "cronledger check schedules.yaml" in written.err
    checked = cli("check")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.endswith("schedules.yaml: 3 schedules, valid; 0 warnings, 3 hints\n")


def test_init_does_not_overwrite_unless_forced(cli: Cli, file: Path) -> None:
    refused = cli("init", file)
    assert refused.code == 4
    assert "--force" in refused.err
    assert file.read_text(encoding="utf-8") == FILE
    assert cli("init", file, "--force").code == 0
    assert file.read_text(encoding="utf-8") != FILE


def test_init_says_why_it_cannot_write(cli: Cli, tmp_path: Path) -> None:
    answer = cli("init", tmp_path / "no" / "such" / "folder.yaml")
    assert answer.code == 4
    assert "No such file" in answer.err


def test_check_names_every_problem_by_its_place(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "version: 1\nschedules:\n  a: {cron: '61 * * * *', job: {kind: k}}\n  b: {cron: 3}\n"
    )
    answer = cli("check", path)
    assert answer.code == 2
    assert answer.out == ""
    assert f"{path}:3:" in answer.err
    assert f"{path}:4:" in answer.err
    told = cli("check", path, "-o", "json")
    assert told.code == 2
    assert told.json["schema_version"] == 1
    assert {problem["line"] for problem in told.json["problems"]} == {3, 4}
    assert {problem["subject"] for problem in told.json["problems"]} == {"a", "b"}


def test_check_of_a_good_file_has_hints_at_most(cli: Cli, file: Path) -> None:
    answer = cli("check", file, "-o", "json")
    assert (answer.code, answer.json["schema_version"], answer.json["schedules"]) == (0, 1, 2)
    assert {problem["severity"] for problem in answer.json["problems"]} <= {"hint"}


@pytest.mark.parametrize("command", ["check", "next", "expand", "explain", "tick", "reconcile"])
def test_a_file_that_is_not_there_is_named(cli: Cli, tmp_path: Path, command: str) -> None:
    extra = WINDOW if command == "expand" else ()
    answer = cli(command, tmp_path / "absent.yaml", *extra)
    assert answer.code == 2
    assert "absent.yaml" in answer.err
    assert "cronledger init" in answer.err


@pytest.mark.parametrize("command", ["next", "expand", "explain"])
def test_an_unknown_schedule_has_a_suggestion(cli: Cli, file: Path, command: str) -> None:
    extra = WINDOW if command == "expand" else ()
    answer = cli(command, file, "hourli", *extra)
    assert answer.code == 2
    assert "did you mean 'hourly'?" in answer.err
    assert "did you mean" not in cli(command, file, "zzz", *extra).err


def test_next_tells_what_a_clock_change_does(cli: Cli, file: Path) -> None:
    answer = cli("next", file, "berlin", "-n", "2", "--from", "2026-03-28T12:00:00Z")
    assert answer.out == (
        "KEY                          LOCAL TIME           UTC OFFSET  NOTE\n"
        "berlin:2026-03-29T01:00:00Z  2026-03-29 03:00:00  +02:00      "
        "moved: the clock skips its time of day\n"
        "berlin:2026-03-30T00:30:00Z  2026-03-30 02:30:00  +02:00\n"
    )
    assert answer.err == ""


def test_next_is_later_than_the_instant_given(cli: Cli, file: Path) -> None:
    answer = cli("next", file, "hourly", "-n", "1", "--from", "2026-03-28T12:00", "-o", "jsonl")
    assert [line["key"] for line in answer.lines] == ["hourly:2026-03-28T13:00:00Z"]


def test_expand_is_half_open_and_counts_what_it_says(cli: Cli, file: Path) -> None:
    answer = cli("expand", file, "hourly", *WINDOW, "-o", "json")
    keys = [row["key"] for row in answer.json["occurrences"]]
    assert answer.json["schema_version"] == 1
    assert len(keys) == 48
    assert (keys[0], keys[-1]) == ("hourly:2026-03-28T00:00:00Z", "hourly:2026-03-29T23:00:00Z")


def test_each_machine_format_holds_the_same(cli: Cli, file: Path) -> None:
    whole = cli("expand", file, *WINDOW, "-o", "json").json["occurrences"]
    assert cli("expand", file, *WINDOW, "-o", "jsonl").lines == whole
    rows = list(csv.DictReader(io.StringIO(cli("expand", file, *WINDOW, "-o", "csv").out)))
    assert [row["key"] for row in rows] == [row["key"] for row in whole]
    assert rows[0].keys() == whole[0].keys()
    assert rows[0]["logical_time"] == whole[0]["logical_time"]
    marks = cli("expand", file, *WINDOW, "-o", "markdown").out.splitlines()
    assert len(marks) == 2 + len(whole)
    assert {line.count("|") for line in marks} == {5}


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("soon", "2026-01-01", "--from"),
        ("2026-01-01", "2026-13-01", "--to"),
        ("2026-01-02", "2026-01-01", "swap the two"),
        ("2026-01-01T00:00:00.5Z", "2026-01-02", "--from"),
        ("0001-01-01T00:00:00+05:00", "0001-01-02", "--from"),
        ("2026-01-01", "9999-12-31T23:59:59-05:00", "--to"),
    ],
)
def test_a_bad_window_is_named_by_its_option(
    cli: Cli, file: Path, start: str, end: str, said: str
) -> None:
    answer = cli("expand", file, "--from", start, "--to", end)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_an_empty_answer_is_still_well_formed(cli: Cli, file: Path) -> None:
    window = ("--from", "2026-03-28", "--to", "2026-03-28")
    assert cli("expand", file, *window, "-o", "json").json == {
        "schema_version": 1,
        "occurrences": [],
    }
    assert cli("expand", file, *window).out == ""
    assert cli("expand", file, *window, "-o", "csv").out.startswith("key,")


def test_explain_spells_out_a_schedule_and_its_policies(cli: Cli, file: Path) -> None:
    answer = cli("explain", file, "berlin")
    assert answer.code == 0
    for words in ("30 2 * * * in Europe/Berlin", "kind k in queue default", "latest", "P1D"):
        assert words in answer.out


def test_explain_answers_for_a_bare_expression(cli: Cli) -> None:
    answer = cli("explain", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "-o", "json")
    assert answer.code == 0
    assert any(row["moved"] for row in answer.json["occurrences"])
    wrong = cli("explain", "--cron", "30 25 * * *")
    assert wrong.code == 2
    assert "column 4" in wrong.err
    assert "Europe/Berlin" in cli("explain", "--cron", "@daily", "--tz", "Europe/Berlim").err


def test_the_file_is_the_argument_then_config_then_the_usual_name(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("schedules.yaml", "other.yaml", "third", "odd"):
        Path(name).write_text(file_text(f"from-{Path(name).stem}: cron: '0 * * * *'"))

    def who(*arguments: str) -> str:
        answer = cli(*arguments, "-n", "1", "-o", "jsonl")
        found: str = answer.lines[0]["schedule"]
        return found

    assert who("next") == "from-schedules"
    assert who("--config", "other.yaml", "next") == "from-other"
    assert who("--config", "other.yaml", "next", "schedules.yaml") == "from-schedules"
    assert who("next", "third") == "from-third"
    assert who("--config", "odd", "next", "from-odd") == "from-odd"


def test_the_version_is_that_of_the_package() -> None:
    answer = process("--version")
    assert answer.code == 0
    assert answer.out.startswith("cronledger ")


def test_a_reader_that_leaves_early_is_no_error(file: Path) -> None:
    command = [*PROGRAM, "expand", str(file), "--from", "2020-01-01", "--to", "2026-01-01"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as expand:
        assert expand.stdout is not None
        assert expand.stderr is not None
        assert expand.stdout.readline().startswith(b"KEY")
        expand.stdout.close()
        said = expand.stderr.read()
        assert expand.wait(60) == 0
    assert said == b""


def test_help_loads_no_database_driver_and_no_yaml() -> None:
    code = (
        "import sys; from cronledger.cli.app import run; run(['--help']);"
        "print([m for m in ('psycopg', 'yaml', 'pydantic', 'uvicorn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
