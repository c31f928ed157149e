"""`reconcile --fail-on` as a gate: yes, no, or that nobody can tell. A green gate means something.

It says yes only if a pass ran in the window and each schedule fell due in it for a whole interval.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import typer

from cronledger.cli import render
from cronledger.core.instants import format_instant, from_epoch, human_span, up_to
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import UnansweredError

if TYPE_CHECKING:
    from cronledger.cli.comparison import Comparison
    from cronledger.core.coverage import Uncovered
    from cronledger.core.diff import Finding, OccurrenceClass
    from cronledger.core.report import Report

# Keys and schedules named on stderr.
NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a "fine" would rest on. `last_pass`: when keys were last decided on or compared."""

    schedules: int
    last_pass: datetime | None
    never_loaded: tuple[str, ...]
    uncovered: tuple[Uncovered, ...]


def evidence(compared: Comparison, report: Report) -> Evidence:
    """Read while the database is open."""
    from cronledger.core.coverage import uncovered

    due = compared.window.intersect(compared.window.start, up_to(compared.now, compared.now).end)
    sections = {section.schedule: section for section in report.sections}
    found = (
        uncovered(standing, sections.get(standing.name), due, compared.zones.load)
        for standing in compared.standings
    )
    passes = [standing.decided_to for standing in compared.standings]
    reconciled = compared.store.measured().snapshot().last_reconcile if compared.standings else None
    return Evidence(
        len(compared.standings),
        max([*passes, *([reconciled] if reconciled else [])], default=None),
        compared.never_loaded,
        tuple(one for one in found if one is not None),
    )


def judge(report: Report, failing: Collection[OccurrenceClass], found: Evidence) -> None:
    """Says "fine" on stderr; or raises Exit(1), or UnansweredError."""
    failed = {word: n for word, n in report.counts.items() if word in failing}
    if failed:
        said = ", ".join(f"{n} {word}" for word, n in failed.items())
        render.tell(f"not fine: {said}")
        for line in _first_keys(report, failed):
            render.tell(f"  {line}")
        for command in _commands(report, failed):
            render.tell(command)
        raise typer.Exit(1)
    lacking = list(_lacking(report, found))
    if lacking:
        raise UnansweredError("\n".join(["this cannot tell whether all is well:", *lacking]))
    words = ", ".join(f"no {word}" for word in failing)
    assert found.last_pass is not None, "or it is lacking"
    ago = human_span(max(report.now - found.last_pass, timedelta(0)))
    of = f"{found.schedules} schedule{'s' * (found.schedules != 1)}"
    render.tell(f"fine: {words} key in {of}; the last pass was {ago} ago")


def _lacking(report: Report, found: Evidence) -> Iterator[str]:
    """Why a report without findings is no good news."""
    if not found.schedules:
        yield "  nothing was ever loaded; `cronledger tick` or `cronledger run` loads the file"
        return
    if found.never_loaded:
        yield f"  never loaded: {_named(found.never_loaded)}"
    start = format_instant(report.window.start)
    if found.last_pass is None or found.last_pass < report.window.start:
        last = format_instant(found.last_pass) if found.last_pass else "never"
        yield f"  no sidecar and no `tick` has looked since {start} (the last time: {last})"
    if found.uncovered:
        yield (
            f"  no whole interval of {len(found.uncovered)} of {found.schedules} schedules lies "
            f"between {start} and {format_instant(min(report.window.end, report.now))}:"
        )
        yield from (f"    {_of(one)}" for one in found.uncovered[:NAMED_MAX])
        left = len(found.uncovered) - NAMED_MAX
        if left > 0:
            yield f"    and {left} more"
        yield "  ask again later, give a longer --since, or name the schedules that this is about"


def _of(one: Uncovered) -> str:
    if one.interval is not None:
        said = f"its interval is {human_span(one.interval)}"
    elif one.due:
        said = "what was due is within its grace"
    else:
        said = "nothing was due"
    following = f"; next {format_instant(one.following)}" if one.following else ""
    return f"{one.schedule}: {said}{following}"


def _first_keys(report: Report, failed: Collection[OccurrenceClass]) -> Iterator[str]:
    """The first keys of each class, by schedule, worst first."""
    lines = list(_all_keys(report, failed))
    yield from lines[:NAMED_MAX]
    if lines[NAMED_MAX:]:
        yield "and more; -o json lists all"


def _all_keys(report: Report, failed: Collection[OccurrenceClass]) -> Iterator[str]:
    for section in report.sections:
        for gap in section.gaps if "missing" in failed else ():
            first = OccurrenceKey(section.schedule, from_epoch(gap.first))
            up_to_last = f" and {gap.count - 1} more to {format_instant(from_epoch(gap.last))}"
            yield f"missing  {first}{up_to_last if gap.count > 1 else ''}"
        for finding in section.keys:
            if finding.occurrence_class in failed:
                yield f"{finding.occurrence_class:<8} {_key(section.schedule, finding)}"


def _commands(report: Report, failed: Collection[OccurrenceClass]) -> Iterator[str]:
    """What to type next for each class."""
    from cronledger.cli.report_text import hints
    from cronledger.core.report import quoted

    yield from hints(report)
    if "dead" in failed:
        yield "look at the dead: cronledger dead list"
    told = {"missing", "omitted", "dead"}
    for section in report.sections:
        for finding in section.keys:
            if finding.occurrence_class in failed and finding.occurrence_class not in told:
                told.add(finding.occurrence_class)
                key = quoted(_key(section.schedule, finding))
                file = quoted(report.file)
                yield f"why it is {finding.occurrence_class}: cronledger explain {file} {key}"


def _key(schedule: str, finding: Finding) -> str:
    return str(OccurrenceKey(schedule, from_epoch(finding.epoch)))


def _named(names: Collection[str]) -> str:
    listed = sorted(names)
    left = len(listed) - NAMED_MAX
    return ", ".join(listed[:NAMED_MAX]) + (f" and {left} more" if left > 0 else "")
