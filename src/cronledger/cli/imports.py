"""The command that makes a schedule file from what people already have."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = ("line", "decision", "schedule", "trigger", "what")
REFUSED = 1


class Report(StrEnum):
    TABLE = "table"
    JSON = "json"


def import_(
    origin: Annotated[
        str,
        typer.Argument(
            metavar="ORIGIN",
            help="crontab, cron.d, supercronic, kubernetes, github, systemd, celery, airflow, "
            "dagster.",
        ),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file; - for standard input.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the schedule file here.")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="Where entries without a zone run; UTC.")
    ] = None,
    report: Annotated[Report, typer.Option("--report", help="How to report.")] = Report.TABLE,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Make a schedule file from a crontab, manifests, workflows, timers or Python files.

    Nothing is run and nothing is dropped silently: the report, on stderr, tells what became of
    each entry. Exit 1 if an entry was refused.
    """
    from cronledger import wiring

    if output is not None and output.exists() and not force:
        raise RefusedError(f"{output} exists; give another name, or --force to overwrite it")
    text, found = wiring.import_file(origin, path, timezone)
    if output is None:
        render.say(text.removesuffix("\n"))
    else:
        _write(output, text)
    if report is Report.JSON:
        whole = {"schema_version": render.SCHEMA_VERSION, **found}
        render.tell(json.dumps(whole, default=render.machine, indent=2))
    else:
        _tell(path, found)
    if found["counts"]["refused"]:
        raise typer.Exit(REFUSED)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"{path} cannot be written ({error.strerror})") from error


def _tell(path: str, report: Mapping[str, Any]) -> None:
    """The report for people: a table of the entries, then the source as a whole."""
    rows = [row for entry in report["entries"] for row in _rows(entry)]
    if rows:
        render.tell(render.table(rows, COLUMNS).removesuffix("\n"))
    for warning in report["warnings"]:
        place = f"{path}:{warning['line']}" if warning["line"] else path
        render.tell(f"{place}: {warning['code']}: {warning['message']}")
    counts = report["counts"]
    noun = "entry" if counts["entries"] == 1 else "entries"
    render.tell(
        f"{path}: {counts['entries']} {noun}: {counts['carried']} carried "
        f"({counts['with_warning']} with a warning), {counts['refused']} refused"
    )


def _rows(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each thing to say about an entry; one if there is nothing."""
    said = [f"{warning['code']}: {warning['message']}" for warning in entry["warnings"]]
    if entry["reason"]:
        said = [entry["reason"]]
    start = {key: entry[key] for key in ("line", "decision", "schedule", "trigger")}
    return [{**start, "what": what} for what in said or [""]]
