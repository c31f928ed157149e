"""`cronledger import`: the file on stdout or where asked, the report on stderr, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from import_sources import CASES, zones
from typer.testing import CliRunner, Result

from cronledger.adapters.config.load import parse
from cronledger.cli import imports
from cronledger.errors import ConfigError, RefusedError


def run(*arguments: str, stdin: str | None = None) -> Result:
    app = typer.Typer()
    app.command("import")(imports.import_)
    return CliRunner().invoke(app, list(arguments), input=stdin)


def source(folder: Path, text: str) -> str:
    path = folder / "tab"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_file_goes_to_stdout_and_the_report_to_stderr(tmp_path: Path) -> None:
    done = run("crontab", source(tmp_path, "0 */5 * * * backup\n"))
    assert done.exit_code == 0
    assert list(parse(done.stdout.encode(), "x", zones()).schedules) == ["backup"]
    assert "uneven-step" in done.stderr
    assert "1 entry: 1 carried (1 with a warning), 0 refused" in done.stderr


def test_a_refused_entry_makes_the_exit_code_one_and_the_others_are_written(tmp_path: Path) -> None:
    target = tmp_path / "schedules.yaml"
    path = source(tmp_path, "@reboot start\n0 1 * * * backup\n")
    done = run("crontab", path, "-o", str(target))
    assert (done.exit_code, done.stdout) == (1, "")
    assert list(parse(target.read_bytes(), "x", zones()).schedules) == ["backup"]
    assert "@reboot names no time" in done.stderr


def test_a_file_that_exists_is_kept_unless_forced(tmp_path: Path) -> None:
    target = tmp_path / "schedules.yaml"
    target.write_text("mine")
    path = source(tmp_path, "0 1 * * * backup\n")
    done = run("crontab", path, "-o", str(target))
    assert isinstance(done.exception, RefusedError)
    assert target.read_text() == "mine"
    assert run("crontab", path, "-o", str(target), "--force").exit_code == 0
    assert "backup" in target.read_text()


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    path = source(tmp_path, "0 1 * * * backup\n")
    done = run("crontab", path, "-o", str(tmp_path / "no" / "folder.yaml"))
    assert isinstance(done.exception, RefusedError)


def test_the_report_is_json_when_asked_for(tmp_path: Path) -> None:
    done = run("crontab", source(tmp_path, "@reboot a\n0 1 * * * b\n"), "--report", "json")
    told = json.loads(done.stderr)
    assert told["schema_version"] == 1
    assert told["counts"] == {"entries": 2, "carried": 1, "with_warning": 0, "refused": 1}
    assert [entry["decision"] for entry in told["entries"]] == ["refuse", "carry"]


def test_a_zone_can_be_given_for_what_names_none(tmp_path: Path) -> None:
    path = source(tmp_path, "0 1 * * * backup\n")
    done = run("crontab", path, "--timezone", "Europe/Oslo")
    timing = parse(done.stdout.encode(), "x", zones()).schedules["backup"].timing
    assert timing.timezone == "Europe/Oslo"
    assert "zone-assumed" not in done.stderr


def test_standard_input_is_read_for_a_dash() -> None:
    done = run("kubernetes", "-", stdin="kind: CronJob\nspec: {schedule: '0 1 * * *'}\n")
    assert done.exit_code == 0
    assert "zone-assumed" in done.stderr


def test_the_unit_beside_a_timer_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.service").write_text("[Service]\nExecStart=/usr/bin/x\n")
    (tmp_path / "x.timer").write_text("[Timer]\nOnCalendar=daily\n")
    done = run("systemd", str(tmp_path / "x.timer"))
    assert 'command: "/usr/bin/x"' in done.stdout or "command: /usr/bin/x" in done.stdout


@pytest.mark.parametrize("name", ["missing", ".", "binary"])
def test_what_cannot_be_read_is_one_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\x00")
    done = run("crontab", str(tmp_path / name))
    assert isinstance(done.exception, ConfigError)
    assert done.exception.exit_code == 2
    assert str(done.exception)


def test_an_unknown_origin_is_told_those_there_are() -> None:
    done = run("anacron", str(CASES / "expected.yaml"))
    assert isinstance(done.exception, ConfigError)
    assert "supercronic" in str(done.exception)
