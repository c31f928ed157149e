"""`check`: everything wrong or odd in a schedule file, with its place, for people and for CI."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import Database, FileArgument, database, file_path
from cronledger.cli.render import Format
from cronledger.errors import ConfigError, Problem

if TYPE_CHECKING:
    from cronledger.core.expected import Standing
    from cronledger.core.findings import Finding
    from cronledger.wiring import PlaceOf

INVALID = "invalid"
COLUMNS = ("file", "line", "column", "subject", "severity", "code", "message")
# What a GitHub workflow calls our severities.
_COMMANDS = {"error": "error", "warning": "warning", "hint": "notice"}


class CheckFormat(StrEnum):
    """How `check` answers."""

    TABLE = "table"
    JSON = "json"
    GITHUB = "github"


def check(
    ctx: typer.Context,
    file: FileArgument = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 if there is a warning; hints never count.")
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="A code of findings to leave out; may be repeated."),
    ] = None,
    ledger: Annotated[
        bool,
        typer.Option(
            "--ledger", help="Also say what loading the file would move or end in the database."
        ),
    ] = False,
    database_url: Database = None,
    output: Annotated[
        CheckFormat, typer.Option("--output", "-o", help="How to write the answer.")
    ] = CheckFormat.TABLE,
) -> None:
    """Validate the schedule file, and point out what is valid and yet rarely meant."""
    path = file_path(ctx, file)
    ignored = _codes(ignore or [])
    try:
        standings = _standings(ctx, database_url) if ledger else {}
        rows, schedules, unasked = _findings(path, ignored, standings)
    except ConfigError as error:
        if output is CheckFormat.TABLE:
            raise
        _show(output, [_row(problem, "error", INVALID) for problem in error.problems], 0)
        raise typer.Exit(error.exit_code) from None
    _show(output, rows, schedules)
    warnings = sum(row["severity"] == "warning" for row in rows)
    if output is CheckFormat.TABLE:
        render.say(_summary(path, schedules, warnings, len(rows) - warnings))
    if unasked:
        left = f"{unasked} schedules are beyond the limit of the second opinion (croniter)"
        render.tell(f"{left}, which was not asked about them; check parts of the file for that")
    if strict and warnings:
        raise typer.Exit(1)


def _standings(ctx: typer.Context, database_url: str | None) -> Mapping[str, Standing]:
    with database(ctx, database_url, "check") as store:
        return {standing.name: standing for standing in store.ledger().standings()}


def _findings(
    path: Path, ignored: Collection[str], standings: Mapping[str, Standing]
) -> tuple[list[dict[str, Any]], int, int]:
    """The findings as rows in file order, how many schedules there are, how many were not asked."""
    from cronledger import wiring
    from cronledger.core.lint import lint
    from cronledger.core.moves import ending, moved_keys

    zones, now = wiring.zones(), wiring.clock().now()
    file, place_of = wiring.load_placed(path, zones)
    found = lint(file.schedules, zones.load, now)
    found += moved_keys(file.schedules.values(), standings, zones.load, now)
    found += ending(file.schedules, standings)
    unasked: Sequence[str] = ()
    if "second-opinion" not in ignored:
        opinion = wiring.second_opinion().of(file.schedules, zones.load, now)
        found += opinion.findings
        unasked = opinion.unasked
    rows = [_placed(finding, place_of, path) for finding in found if finding.code not in ignored]
    rows.sort(key=lambda row: (row["line"], row["column"]))
    return rows, len(file.schedules), len(unasked)


def _placed(finding: Finding, place_of: PlaceOf, path: Path) -> dict[str, Any]:
    line, column = place_of(finding.schedule, finding.path, finding.offset)
    problem = Problem(finding.message, finding.schedule, str(path), line, column)
    return _row(problem, finding.severity.value, finding.code)


def _row(problem: Problem, severity: str, code: str) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "subject": problem.subject,
        "severity": severity,
        "code": code,
        "message": problem.message,
    }


def _codes(given: Sequence[str]) -> frozenset[str]:
    from difflib import get_close_matches

    from cronledger.core.findings import CODES

    for code in given:
        if code not in CODES:
            close = get_close_matches(code, CODES, 1)
            hint = f"did you mean {close[0]}?" if close else f"write one of {', '.join(CODES)}"
            raise ConfigError(f"--ignore: there is no code {code!r}; {hint}")
    return frozenset(given)


def _show(output: CheckFormat, rows: Sequence[dict[str, Any]], schedules: int) -> None:
    match output:
        case CheckFormat.TABLE:
            for line in _lines(rows):
                render.say(line)
        case CheckFormat.JSON:
            render.show(Format.JSON, "problems", rows, COLUMNS, {"schedules": schedules})
        case CheckFormat.GITHUB:
            for row in rows:
                render.say(_annotation(row))


def _lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        message = f"{row['severity']}: {row['message']} [{row['code']}]"
        yield str(Problem(message, row["subject"], row["file"], row["line"], row["column"]))


def _summary(path: Path, schedules: int, warnings: int, hints: int) -> str:
    count = f"{path}: {schedules} schedule{'s' * (schedules != 1)}"
    if not warnings and not hints:
        return f"{count}, no problem found"
    parts = [f"{n} {word}{'s' * (n != 1)}" for n, word in ((warnings, "warning"), (hints, "hint"))]
    return f"{count}, valid; {', '.join(parts)}"


def _annotation(row: dict[str, Any]) -> str:
    """A workflow command that GitHub shows at the line it names."""
    title = f"cronledger {row['code']}"
    properties = {"file": row["file"]}
    if row["line"]:
        properties |= {"line": row["line"], "col": row["column"]}
    properties["title"] = f"{title}: {row['subject']}" if row["subject"] else title
    return render.annotation(_COMMANDS[row["severity"]], properties, row["message"])
