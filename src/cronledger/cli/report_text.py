"""A reconcile in words: the summary of the table, Markdown for a pull request, annotations."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from cronledger.cli import render
from cronledger.core.diff import OccurrenceClass
from cronledger.core.instants import format_instant
from cronledger.core.report import (
    FINE,
    Filler,
    Report,
    Section,
    fill_command,
    gap_command,
)

# Line and column of a schedule in its file; None if it is not there.
PlaceOf: TypeAlias = Callable[[str], tuple[int, int] | None]

# A comment on a pull request holds 65,536 characters.
SCHEDULES_SHOWN = 50
GAPS_SHOWN = 50
# GitHub shows ten errors and ten warnings of a step.
ANNOTATIONS_MAX = 9
_BACKQUOTES = re.compile(r"`+")


def summary(report: Report) -> str:
    """One line: the window, and how many keys are what."""
    words = [f"{n} {word}{_states(report, word)}" for word, n in sorted(report.counts.items())]
    if report.in_grace:
        words.append(f"{report.in_grace} not recorded and within grace")
    return (
        f"{_span(report)}: {_count(len(report.sections), 'schedule')}, {report.expected} expected, "
        f"{report.recorded} recorded; {', '.join(words) or 'nothing was due'}"
    )


def hints(report: Report) -> Iterator[str]:
    """What to type next, if there is something to fill."""
    fillable = {OccurrenceClass.MISSING: "", OccurrenceClass.OMITTED: " --include omitted"}
    for word, include in fillable.items():
        lost = [section for section in report.sections if word in section.counts]
        if any(section.filler is Filler.OURS for section in lost):
            yield f"fill what is {word}: {fill_command(report, report.selected)}{include}"
        gone = [section.schedule for section in lost if section.filler is Filler.GONE]
        if gone and word is OccurrenceClass.MISSING:
            yield (
                f"{', '.join(gone)}: not in {report.file} any more, so nothing fills these; a "
                "renamed schedule carries them on with `aliases`"
            )


def markdown(report: Report) -> str:
    """For a pull request: a verdict, a table of what is not fine, and the gaps folded away."""
    lines = [f"### cronledger: {verdict(report)}", "", f"{_escaped(summary(report))}.", ""]
    unwell = [s for s in report.sections if any(word not in FINE for word in s.counts)]
    if unwell:
        lines += ["| schedule | expected | recorded | not fine |", "|---|--:|--:|---|"]
        for section in unwell[:SCHEDULES_SHOWN]:
            name = code(section.schedule).replace("|", "\\|")
            what = what_is_wrong(section.counts)
            lines.append(f"| {name} | {section.expected} | {section.recorded} | {what} |")
        if len(unwell) > SCHEDULES_SHOWN:
            lines += ["", f"And {len(unwell) - SCHEDULES_SHOWN} more; `-o json` lists all."]
    lines += _folded_gaps(report)
    return "\n".join(lines).rstrip("\n") + "\n"


def _folded_gaps(report: Report) -> list[str]:
    gaps = [(section, gap) for section in report.sections for gap in section.gaps]
    more = sum(section.more_gaps for section in report.sections) + len(gaps[GAPS_SHOWN:])
    if not gaps:
        return []
    commands = []
    for section, gap in gaps[:GAPS_SHOWN]:
        command = gap_command(report, section, gap)
        commands.append(command or f"# {_plain(section.schedule)}: {why_not(section, report)}")
    text = "\n".join(commands)
    fence = "`" * max(3, 1 + _longest(text))
    title = f"{_count(len(gaps) + more, 'gap')} and what fills them (a dry run without --apply)"
    lines = ["", f"<details><summary>{html.escape(title)}</summary>", "", f"{fence}sh", text, fence]
    if more:
        lines += ["", f"And {more} more; `-o json` has them."]
    return [*lines, "", "</details>"]


def workflow_commands(
    report: Report, failing: Collection[OccurrenceClass], place_of: PlaceOf
) -> Iterator[str]:
    """Workflow commands: one for each schedule that is not well, at its place in the file."""
    for level in ("error", "warning"):
        found = [s for s in report.sections if s.is_wrong or _fails(s, failing)]
        chosen = [s for s in found if _fails(s, failing) == (level == "error")]
        for section in chosen[:ANNOTATIONS_MAX]:
            properties: dict[str, object] = {"file": report.file}
            place = place_of(section.schedule)
            if place is not None:
                properties["line"], properties["col"] = place
            properties["title"] = f"cronledger reconcile: {section.schedule}"
            yield render.annotation(level, properties, _message(report, section))
        if chosen[ANNOTATIONS_MAX:]:
            more = _count(len(chosen) - ANNOTATIONS_MAX, "more schedule")
            yield render.annotation(level, {"title": "cronledger reconcile"}, f"and {more}")
    yield render.annotation("notice", {"title": "cronledger reconcile"}, summary(report))


def _message(report: Report, section: Section) -> str:
    said = f"{what_is_wrong(section.counts)} in {_span(report)}"
    if not section.gaps:
        return said
    if section.filler is Filler.OURS:
        return f"{said}; fill: {fill_command(report, [section.schedule])}"
    return f"{said}; {why_not(section, report)}"


def verdict(report: Report) -> str:
    """In one clause, whether somebody should look."""
    if not report.sections:
        return "nothing was ever loaded"
    wrong, all_of = len(report.wrong), len(report.sections)
    if not wrong:
        return f"nothing is missing in {_count(all_of, 'schedule')}"
    return f"{wrong} of {_count(all_of, 'schedule')} need{'s' * (wrong == 1)} attention"


def why_not(section: Section, report: Report) -> str:
    """Why no command of ours fills the gaps of a schedule."""
    if section.filler is Filler.MANAGED:
        return "another scheduler runs it, so nothing of ours fills it"
    return f"not in {report.file} any more, so nothing fills it"


def what_is_wrong(counts: Mapping[OccurrenceClass, int]) -> str:
    """The keys that are not fine, by class."""
    return ", ".join(f"{n} {word}" for word, n in counts.items() if word not in FINE)


def code(text: str) -> str:
    """Text as a code span of Markdown, on one line, whatever stands in it."""
    text = _plain(text)
    fence = "`" * (1 + _longest(text))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _plain(text: str) -> str:
    """The text on one line: what is not printable is spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|&])", r"\\\1", _plain(text))


def _longest(text: str) -> int:
    """The length of the longest run of backquotes."""
    return max((len(run) for run in _BACKQUOTES.findall(text)), default=0)


def _states(report: Report, word: OccurrenceClass) -> str:
    """Where the jobs of running occurrences stand: one that nobody claimed is not worked on."""
    if word is not OccurrenceClass.RUNNING or not report.states:
        return ""
    return f" ({', '.join(f'{n} {state}' for state, n in sorted(report.states.items()))})"


def _fails(section: Section, failing: Collection[OccurrenceClass]) -> bool:
    return any(word in section.counts for word in failing)


def _span(report: Report) -> str:
    return f"{format_instant(report.window.start)} to {format_instant(report.window.end)}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"
