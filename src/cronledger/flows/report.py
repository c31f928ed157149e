"""Report: one pass over a reconcile, made into figures and pictures. Holds few keys at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from cronledger.core.diff import Finding
from cronledger.core.instants import Window
from cronledger.core.picture import Canvas
from cronledger.core.report import Filler, Report, Section, Tally, worst_first
from cronledger.core.schedule import Schedule, ScheduleFile, known_as
from cronledger.flows.reconcile import Drift

# Schedules with a picture, and cells in all of them: what a browser opens at once. The worst ones
# are kept, the others are figures in a list.
PICTURED_MAX = 50
CELLS_MAX = 15_000

Seen = Callable[[str, Finding], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """`selected` schedules (() is all) over `window`, as of `now`; drawn or not."""

    file: ScheduleFile
    window: Window
    now: datetime
    selected: tuple[str, ...] = ()
    pictures: bool = False


def report(drifts: Iterable[Drift], asked: Asked, seen: Seen = lambda *_: None) -> Report:
    """The report of what a reconcile yields; `seen` hears of every key while it goes by.

    Drifts of one schedule that follow each other are parts of its window.
    """
    ours = known_as(asked.file.schedules)
    sections: list[Section] = []
    for name, parts in groupby(drifts, key=lambda drift: drift.schedule):
        canvas = Canvas(asked.window) if asked.pictures else None
        tally = Tally(name, filler_of(ours, name), canvas)
        expected = recorded = 0
        for part in parts:
            expected, recorded = expected + part.expected, recorded + part.recorded
            for finding in part.findings:
                tally.add(finding)
                seen(name, finding)
        sections.append(tally.section(expected, recorded))
        if len(sections) % PICTURED_MAX == 0:
            sections = _kept(sections)
    kept = tuple(_kept(sections))
    return Report(asked.file.path, asked.now, asked.window, kept, asked.selected)


def filler_of(ours: Mapping[str, Schedule], name: str) -> Filler:
    """Who can fill the gaps of a schedule; `ours` is by every name that a schedule ever had."""
    schedule = ours.get(name)
    if schedule is None:
        return Filler.GONE
    return Filler.OURS if schedule.managed_by is None else Filler.MANAGED


def _kept(sections: Iterable[Section]) -> list[Section]:
    """Worst first; as many as may be drawn keep their pictures and single keys."""
    kept: list[Section] = []
    room = CELLS_MAX
    for place, section in enumerate(worst_first(sections)):
        cells = len(section.picture.cells) if section.picture else 0
        if place >= PICTURED_MAX or cells > room:
            kept.append(replace(section, picture=None, keys=()))
        else:
            room -= cells
            kept.append(section)
    return kept
