"""`export`: artefacts that the program writes for other programs, and whether a copy is current."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from cronledger.cli import render
from cronledger.errors import ConfigError, RefusedError

# What a schedule file takes for a team.
TEAM = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}")

export = typer.Typer(no_args_is_help=True, help="Write artefacts for other programs.")


@export.callback()
def _export() -> None:
    """Write artefacts for other programs."""


OutputFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="The file to write; else stdout.")
]
CheckedFile = Annotated[
    Path | None, typer.Option("--check", help="Compare with this file; exit 1 if it differs.")
]


@export.command()
def schema(output: OutputFile = None, check: CheckedFile = None) -> None:
    """The JSON Schema of the schedule file, from which editors complete and check."""
    from cronledger import wiring

    _hand_out(wiring.file_schema(), output, check)


@export.command("log-schema")
def log_schema(output: OutputFile = None, check: CheckedFile = None) -> None:
    """The JSON Schema of the log lines of `run` and `work`."""
    from cronledger import observing

    _hand_out(observing.log_schema(), output, check)


@export.command("report-schema")
def report_schema(output: OutputFile = None, check: CheckedFile = None) -> None:
    """The JSON Schema of `reconcile -o json`."""
    from cronledger import observing

    _hand_out(observing.report_schema(), output, check)


@export.command()
def dashboards(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the files are written.")
    ] = Path("dashboards"),
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the files there; exit 1 if one differs.")
    ] = False,
) -> None:
    """The dashboards for Grafana, a file each: import them, or provision the folder."""
    from cronledger import wiring

    for name, text in wiring.dashboards().items():
        if check:
            _compare(text, folder / name, f"export dashboards {folder}")
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RefusedError(f"{folder} cannot be made ({error.strerror})") from error
        write(folder / name, text)
        render.tell(f"wrote {folder / name}")


@export.command()
def alertmanager(
    team: Annotated[
        list[str] | None,
        typer.Option(
            "--team", metavar="TEAM", help="A team with receivers of its own; repeatable."
        ),
    ] = None,
    output: OutputFile = None,
    check: CheckedFile = None,
) -> None:
    """Routes and inhibitions for Alertmanager, by team and severity; the receivers are empty."""
    from cronledger import wiring

    for name in team or ():
        if not TEAM.fullmatch(name):
            raise ConfigError(
                f"{name!r} is no team; as in the file: letters, digits, '_', '.' and '-', up to 63"
            )
    _hand_out(wiring.alertmanager(tuple(dict.fromkeys(team or ()))), output, check)


@export.command("grafana-alerts")
def grafana_alerts(
    alerts: Annotated[
        Path, typer.Argument(metavar="ALERTS", help="The alert rules of Prometheus.")
    ] = Path("alerts/cronledger.yaml"),
    output: OutputFile = None,
    check: CheckedFile = None,
) -> None:
    """The alerts as Grafana provisions them: rules that Grafana evaluates by itself."""
    from cronledger import wiring

    _hand_out(wiring.grafana_alerts(_read(alerts), str(alerts)), output, check)


@export.command()
def roles() -> None:
    """The database roles and their rights, as SQL for whoever owns the schema."""
    from cronledger import wiring

    sys.stdout.write(wiring.roles_script())


def write(path: Path, text: str) -> None:
    """Write a file. Raises RefusedError if that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"{path} cannot be written ({error.strerror})") from error


def _hand_out(text: str, output: Path | None, check: Path | None) -> None:
    if check is not None:
        _compare(text, check, f"-o {check}")
    elif output is None:
        sys.stdout.write(text)
    else:
        write(output, text)
        render.tell(f"wrote {output}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); name another file") from None


def _compare(text: str, path: Path, again: str) -> None:
    found = _read(path)
    if found != text:
        render.tell(f"{path} is not what this version writes; write it anew ({again})")
        raise typer.Exit(1)
