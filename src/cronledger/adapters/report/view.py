"""What the page says of a report, in the order in which it says it; the template only places it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cronledger.adapters.report import said
from cronledger.adapters.report.calendar import Calendar, calendar
from cronledger.adapters.report.looks import LOOKS, Look
from cronledger.core.diff import Finding, OccurrenceClass
from cronledger.core.instants import format_epoch, format_instant, from_epoch, human_span
from cronledger.core.report import (
    FINE,
    WRONG,
    Filler,
    Gap,
    Report,
    Section,
    fill_command,
    gap_command,
)

# Of each schedule that is drawn, and rows of those that are not.
GAPS_SHOWN = 10
FINE_KEYS_SHOWN = 2
ROWS_MAX = 1000
STAGES = ("recorded", "enqueued", "claimed", "effect committed")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the summary. `look` is that of its class, None for sums."""

    word: str
    value: str
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant for people, and for machines."""

    text: str
    machine: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One of the four. `at` is None if it was not reached."""

    name: str
    at: Moment | None
    after: str


@dataclass(frozen=True, slots=True)
class Key:
    """One key; without stages if it was never recorded."""

    key: str
    word: str
    look: Look
    note: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class GapView:
    """A gap; `command` is None where nothing of ours fills it."""

    count: str
    span: str
    lasted: str
    command: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """One schedule with its picture. `why_not` says why its gaps have no commands, if so."""

    anchor: str
    name: str
    is_wrong: bool
    word: str
    look: Look | None
    figures: tuple[Figure, ...]
    calendar: Calendar
    gaps: tuple[GapView, ...]
    more_gaps: str
    why_not: str
    fill_all: str | None
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One schedule without a picture."""

    name: str
    is_wrong: bool
    expected: str
    recorded: str
    what: str


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    file: str
    start: Moment
    end: Moment
    now: Moment
    figures: tuple[Figure, ...]
    looks: tuple[tuple[str, Look], ...]
    wrong: tuple[Card, ...]
    well: tuple[Card, ...]
    rows: tuple[Row, ...]
    more_rows: str


def view(report: Report) -> Page:
    """The page of a report."""
    drawn = [section for section in report.sections if section.picture is not None]
    listed = [section for section in report.sections if section.picture is None]
    cards = [_card(report, section, place) for place, section in enumerate(drawn, 1)]
    left = len(listed) - ROWS_MAX
    return Page(
        title=verdict(report),
        file=report.file,
        start=_moment(report.window.start),
        end=_moment(report.window.end),
        now=_moment(report.now),
        figures=tuple(_sums(report)),
        looks=tuple((str(word), look) for word, look in LOOKS.items()),
        wrong=tuple(card for card in cards if card.is_wrong),
        well=tuple(card for card in cards if not card.is_wrong),
        rows=tuple(_row(section) for section in listed[:ROWS_MAX]),
        more_rows=said.counted(left, "more schedule") if left > 0 else "",
    )


def verdict(report: Report) -> str:
    """In one clause, whether somebody should look."""
    if not report.sections:
        return "Nothing was ever loaded"
    wrong, of = len(report.wrong), said.counted(len(report.sections), "schedule")
    if wrong:
        return f"{said.count(wrong)} of {of} need{'s' * (wrong == 1)} attention"
    return f"Nothing is missing in {of}" if report.expected else "Nothing was due"


def _sums(report: Report) -> Iterator[Figure]:
    yield Figure("expected", said.count(report.expected))
    yield Figure("recorded", said.count(report.recorded))
    if report.in_grace:
        yield Figure("within grace", said.count(report.in_grace))
    counts = report.counts
    for word, look in LOOKS.items():
        if counts.get(word) or word is OccurrenceClass.MISSING:
            yield Figure(str(word), said.count(counts.get(word, 0)), look)


def _card(report: Report, section: Section, place: int) -> Card:
    assert section.picture is not None, "a card has a picture"
    worst = section.worst
    shown = [_gap(report, section, gap) for gap in section.gaps[:GAPS_SHOWN]]
    left = len(section.gaps) + section.more_gaps - len(shown)
    ours = section.filler is Filler.OURS
    return Card(
        anchor=f"s{place}",
        name=section.schedule,
        is_wrong=section.is_wrong,
        word=str(worst) if worst is not None else "nothing due",
        look=LOOKS[worst] if worst is not None else None,
        figures=tuple(_of_section(section)),
        calendar=calendar(section.picture, report.window),
        gaps=tuple(shown),
        more_gaps=said.counted(left, "more gap") if left else "",
        why_not=_why_not(report, section),
        fill_all=fill_command(report, [section.schedule]) if ours and len(shown) > 1 else None,
        keys=tuple(_key(section.schedule, finding) for finding in _worth_a_look(section)),
    )


def _worth_a_look(section: Section) -> list[Finding]:
    """All that is not fine, and a few that are, to compare them with."""
    unwell = [key for key in section.keys if key.occurrence_class not in FINE]
    fine = [key for key in section.keys if key.occurrence_class in FINE]
    return unwell + fine[:FINE_KEYS_SHOWN]


def _of_section(section: Section) -> Iterator[Figure]:
    yield Figure("expected", said.count(section.expected))
    yield Figure("recorded", said.count(section.recorded))
    if section.in_grace:
        yield Figure("within grace", said.count(section.in_grace))
    for word, n in section.counts.items():
        yield Figure(str(word), said.count(n), LOOKS[word])


def _gap(report: Report, section: Section, gap: Gap) -> GapView:
    lasted = human_span(from_epoch(gap.last) - from_epoch(gap.first))
    return GapView(
        count=said.counted(gap.count, "key"),
        span=said.span(gap.first, gap.last),
        lasted=f"over {lasted}" if gap.count > 1 else "",
        command=gap_command(report, section, gap),
    )


def _why_not(report: Report, section: Section) -> str:
    match section.filler:
        case Filler.OURS:
            return ""
        case Filler.MANAGED:
            return "Another scheduler runs it, so nothing of ours fills them."
        case Filler.GONE:
            return f"Not in {report.file} any more, so nothing fills them."


def _key(schedule: str, finding: Finding) -> Key:
    due = from_epoch(finding.epoch)
    held = finding.stages
    times: Sequence[datetime | None] = ()
    if held is not None:
        times = (held.recorded_at, held.enqueued_at, held.claimed_at, held.committed_at)
    return Key(
        key=f"{schedule}:{format_epoch(finding.epoch)}",
        word=str(finding.occurrence_class),
        look=LOOKS[finding.occurrence_class],
        note=_note(finding),
        stages=tuple(_stage(name, at, due) for name, at in zip(STAGES, times, strict=False)),
    )


def _note(finding: Finding) -> str:
    """What else is known: why it was left out, or its job and who recorded it."""
    if finding.stages is None:
        return (finding.reason or "").replace("_", " ")
    state = finding.stages.state or "gone"
    job = f"job {finding.stages.job_id} is {state}, " if finding.stages.job_id is not None else ""
    return f"{job}recorded by {finding.stages.via}"


def _stage(name: str, at: datetime | None, due: datetime) -> Stage:
    if at is None:
        return Stage(name, None, "")
    whole = at.replace(microsecond=0)
    text = said.clock(whole) if whole.date() == due.date() else said.minute(whole)
    return Stage(name, Moment(text, format_instant(at)), said.after(at, due))


def _row(section: Section) -> Row:
    unwell = {word: n for word, n in section.counts.items() if word not in FINE}
    what = said.classes(unwell) or ("nothing was due" if not section.expected else "all is well")
    return Row(
        section.schedule,
        any(word in WRONG for word in unwell),
        said.count(section.expected),
        said.count(section.recorded),
        what,
    )


def _moment(at: datetime) -> Moment:
    return Moment(said.minute(at.replace(microsecond=0)), format_instant(at))
