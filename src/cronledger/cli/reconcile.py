"""`reconcile`: what was expected in a window against what is recorded, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli import render
from cronledger.cli.comparison import (
    After,
    Asked,
    Comparison,
    classes,
    compared,
    end_if_interrupted,
)
from cronledger.cli.options import Database, From, Since, To, Words

if TYPE_CHECKING:
    from cronledger.cli.report_rows import Writer
    from cronledger.core.diff import OccurrenceClass
    from cronledger.core.report import Report


class ReportFormat(StrEnum):
    """How `reconcile` answers."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    GITHUB = "github"
    HTML = "html"


Only = Annotated[str | None, typer.Option("--only", help="Show only these classes (a,b).")]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        help="A gate: exit 1 on a key of these classes (a,b), 3 if nothing shows that all is "
        "well. Without it: exit 1 on a missing key.",
        show_default=False,
    ),
]
ReportOutput = Annotated[
    ReportFormat, typer.Option("--output", "-o", help="How to write the answer.")
]


def reconcile(
    ctx: typer.Context,
    words: Words = None,
    start: From = None,
    end: To = None,
    since: Since = None,
    only: Only = None,
    fail_on: FailOn = None,
    after: After = None,
    database_url: Database = None,
    output: ReportOutput = ReportFormat.TABLE,
) -> None:
    """Compare what was expected with what is recorded; exit 1 when something is missing."""
    from cronledger.cli import gate
    from cronledger.flows.report import Asked as Reported
    from cronledger.flows.report import report

    failing = classes(fail_on if fail_on is not None else "missing", "--fail-on")
    shown = _shown(only, output, failing if fail_on is not None else ())
    # Every key is read: a gap ends at the next key that is there.
    ask = Asked((start, end, since), True, after, partly=True)
    with compared(ctx, database_url, words, ask) as held:
        writer = _writer(output, shown, held)
        asked = Reported(
            held.file,
            held.window,
            held.now,
            held.selected,
            pictures=output is ReportFormat.HTML,
        )
        found = report(held.drifts, asked, writer.key)
        evidence = gate.evidence(held, found) if fail_on is not None else None
    if held.reached is not None:
        found = replace(found, interrupted_after=str(held.reached))
    writer.end(found)
    _finish(output, found, failing, gated=evidence is not None)
    end_if_interrupted(held)
    if evidence is not None:
        gate.judge(found, failing, evidence)
    elif any(found.counts.get(word) for word in failing):
        raise typer.Exit(1)


def _shown(
    only: str | None, output: ReportFormat, gated: Collection[OccurrenceClass]
) -> Collection[OccurrenceClass]:
    """The classes of the keys that are written; a table for people leaves out what is fine, and
    that of a gate what it does not fail on."""
    from cronledger.core.diff import OccurrenceClass
    from cronledger.core.report import FINE

    if only is not None:
        return classes(only, "--only")
    if output is not ReportFormat.TABLE:
        return list(OccurrenceClass)
    return gated or [word for word in OccurrenceClass if word not in FINE]


def _writer(
    output: ReportFormat, shown: Collection[OccurrenceClass], compared: Comparison
) -> Writer:
    from cronledger.cli import report_rows

    match output:
        case ReportFormat.TABLE:
            return report_rows.Table(shown)
        case ReportFormat.JSON:
            return report_rows.Json(shown, compared.file.path, compared.now, compared.window)
        case ReportFormat.JSONL:
            return report_rows.Lines(shown)
        case ReportFormat.CSV:
            return report_rows.Csv(shown)
        case _:
            return report_rows.Whole()


def _finish(
    output: ReportFormat, found: Report, failing: Collection[OccurrenceClass], *, gated: bool
) -> None:
    """What is written when everything is known."""
    from cronledger import observing
    from cronledger.cli import report_text

    match output:
        case ReportFormat.TABLE:
            for line in () if gated else report_text.hints(found):
                render.tell(line)
        case ReportFormat.MARKDOWN:
            render.write(report_text.markdown(found))
        case ReportFormat.GITHUB:
            for line in report_text.workflow_commands(found, failing, _places(Path(found.file))):
                render.say(line)
        case ReportFormat.HTML:
            render.write(observing.report_page(found))


def _places(path: Path) -> Callable[[str], tuple[int, int] | None]:
    """Where the schedules stand in the file, by every name that they ever had."""
    from cronledger import wiring
    from cronledger.core.schedule import known_as

    file, place_of = wiring.load_placed(path, wiring.zones())
    ours = known_as(file.schedules)
    return lambda name: place_of(ours[name].id, (), 0) if name in ours else None
