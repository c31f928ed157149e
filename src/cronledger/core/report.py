"""A reconcile as figures, gaps and pictures: the value that every form of the report shows.

It is built from one pass over the findings and holds few of them, so that its size does not grow
with the number of keys.
"""

from __future__ import annotations

import shlex
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cronledger.core.diff import Finding, OccurrenceClass
from cronledger.core.instants import Window, format_epoch, to_epoch
from cronledger.core.picture import Canvas, Picture, worst_of

# Of the machine format: it rises when a field goes or changes its meaning, not when one is added.
VERSION = 1
# Of each schedule; what is left out is counted.
GAPS_MAX = 100
# Single keys shown of each class and schedule, the latest.
KEYS_MAX = 3

WRONG = frozenset(
    {
        OccurrenceClass.MISSING,
        OccurrenceClass.UNEXPECTED,
        OccurrenceClass.ORPHANED,
        OccurrenceClass.DEAD,
    }
)
FINE = frozenset({OccurrenceClass.RUNNING, OccurrenceClass.COMPLETED, OccurrenceClass.PRUNED})


class Filler(StrEnum):
    """Who can fill the gaps of a schedule: OURS by `backfill`, MANAGED another scheduler; of what
    is GONE from the file nothing says what its job is."""

    OURS = "ours"
    MANAGED = "managed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing keys with none between them that is not: `count` from `first` to `last` (epochs)."""

    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Section:
    """One schedule over the window.

    `counts` leaves out classes without a key. `states` are those of the jobs of running keys: one
    that nobody claimed is not worked on. `gaps` are the first GAPS_MAX, oldest first, and
    `more_gaps` counts the rest. `keys` are single keys to look at, gravest first, the latest of
    each class. Of many schedules only the worst have `keys`, and a `picture` if one was asked for.
    """

    schedule: str
    filler: Filler
    expected: int
    recorded: int
    counts: Mapping[OccurrenceClass, int]
    states: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    more_gaps: int = 0
    picture: Picture | None = None
    keys: tuple[Finding, ...] = ()

    @property
    def worst(self) -> OccurrenceClass | None:
        """The gravest class of any key; None if there is none."""
        return worst_of(self.counts) if self.counts else None

    @property
    def is_wrong(self) -> bool:
        """Whether a person should look."""
        return any(word in WRONG for word in self.counts)

    @property
    def in_grace(self) -> int:
        """Expected keys that have no record, and time left to get one."""
        known = sum(n for word, n in self.counts.items() if word != OccurrenceClass.UNEXPECTED)
        return max(0, self.expected - known)


@dataclass(frozen=True, slots=True)
class Report:
    """What a window owed against what is recorded, as of `now` (the database's clock).

    `file` is the schedule file's path as it was given, `selected` the schedules that were asked
    for; () is all. `sections` come worst first. `interrupted_after`: the last key looked at, if
    the rest was not.
    """

    file: str
    now: datetime
    window: Window
    sections: tuple[Section, ...]
    selected: tuple[str, ...] = ()
    interrupted_after: str | None = None

    @property
    def counts(self) -> Mapping[OccurrenceClass, int]:
        """Keys of all schedules by class."""
        total: Counter[OccurrenceClass] = Counter()
        for section in self.sections:
            total.update(section.counts)
        return total

    @property
    def states(self) -> Mapping[str, int]:
        """Those of the jobs of running keys."""
        total: Counter[str] = Counter()
        for section in self.sections:
            total.update(section.states)
        return total

    @property
    def expected(self) -> int:
        return sum(section.expected for section in self.sections)

    @property
    def recorded(self) -> int:
        return sum(section.recorded for section in self.sections)

    @property
    def in_grace(self) -> int:
        return sum(section.in_grace for section in self.sections)

    @property
    def wrong(self) -> tuple[Section, ...]:
        """The schedules that a person should look at."""
        return tuple(section for section in self.sections if section.is_wrong)


class Tally:
    """Takes the findings of one schedule, ascending; with a `canvas` it draws them as well."""

    def __init__(self, schedule: str, filler: Filler, canvas: Canvas | None = None) -> None:
        self._schedule, self._filler, self._canvas = schedule, filler, canvas
        self._counts: Counter[OccurrenceClass] = Counter()
        self._states: Counter[str] = Counter()
        self._gaps: list[Gap] = []
        self._more_gaps = 0
        self._open: Gap | None = None
        self._latest: dict[OccurrenceClass, deque[Finding]] = {}

    def add(self, finding: Finding) -> None:
        """The next key."""
        word = finding.occurrence_class
        self._counts[word] += 1
        if word is OccurrenceClass.MISSING:
            gap = self._open or Gap(finding.epoch, finding.epoch, 0)
            self._open = Gap(gap.first, finding.epoch, gap.count + 1)
        else:
            self._close()
            # A missing key has no stages to show; the gaps name it.
            self._latest.setdefault(word, deque(maxlen=KEYS_MAX)).append(finding)
        if word is OccurrenceClass.RUNNING and finding.stages and finding.stages.state:
            self._states[finding.stages.state] += 1
        if self._canvas is not None:
            self._canvas.add(finding.epoch, word)

    def section(self, expected: int, recorded: int) -> Section:
        """All that was taken."""
        self._close()
        keys = (f for word in OccurrenceClass for f in reversed(self._latest.get(word, ())))
        return Section(
            self._schedule,
            self._filler,
            expected,
            recorded,
            {word: self._counts[word] for word in OccurrenceClass if self._counts[word]},
            dict(self._states),
            tuple(self._gaps),
            self._more_gaps,
            self._canvas.picture() if self._canvas is not None else None,
            tuple(keys),
        )

    def _close(self) -> None:
        if self._open is None:
            return
        if len(self._gaps) < GAPS_MAX:
            self._gaps.append(self._open)
        else:
            self._more_gaps += 1
        self._open = None


def worst_first(sections: Iterable[Section]) -> list[Section]:
    """By the number of keys in each class, the gravest class first; then by name."""
    unwell = [word for word in OccurrenceClass if word not in FINE]

    def order(section: Section) -> tuple[tuple[int, ...], str]:
        return tuple(-section.counts.get(word, 0) for word in unwell), section.schedule

    return sorted(sections, key=order)


def gap_command(report: Report, section: Section, gap: Gap) -> str | None:
    """The command that shows how a gap would be filled, and fills it with --apply; None where
    nothing of ours says what its jobs are."""
    if section.filler is not Filler.OURS:
        return None
    return _backfill(report.file, [section.schedule], gap.first, gap.last + 1)


def fill_command(report: Report, schedules: Sequence[str]) -> str:
    """The same over the whole window, of some schedules; () is all."""
    window = report.window
    return _backfill(report.file, schedules, to_epoch(window.start), to_epoch(window.end))


def _backfill(file: str, schedules: Sequence[str], start: int, end: int) -> str:
    span = ["--from", format_epoch(start), "--to", format_epoch(end)]
    return " ".join(map(quoted, ["cronledger", "backfill", file, *schedules, *span]))


def quoted(word: str) -> str:
    """The word as a shell reads it back, on one line and with nothing in it that is not seen."""
    if word.isprintable():
        return shlex.quote(word)
    spelled = (_octal(char) if char in "'\\" or not char.isprintable() else char for char in word)
    return f"$'{''.join(spelled)}'"


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode())
