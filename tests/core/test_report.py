"""A report: its sums, its gaps and its pictures, against a count that shares no code with them."""

from __future__ import annotations

import shlex
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.diff import Fate, Finding, OccurrenceClass
from cronledger.core.instants import Window, from_epoch
from cronledger.core.picture import KEYS_A_DAY, Canvas, Grain, start_of
from cronledger.core.report import (
    FINE,
    GAPS_MAX,
    Filler,
    Gap,
    Report,
    Section,
    Tally,
    fill_command,
    gap_command,
    worst_first,
)

START = datetime(2026, 12, 1, tzinfo=UTC)
DAY = timedelta(days=1)
Keys = list[tuple[int, OccurrenceClass]]


@st.composite
def keys(draw: st.DrawFn) -> Keys:
    """Ascending epochs over a few weeks, each with a class."""
    first = int(START.timestamp())
    epochs = sorted(draw(st.sets(st.integers(first, first + 30 * 86400), max_size=60)))
    return [(epoch, draw(st.sampled_from(OccurrenceClass))) for epoch in epochs]


def section_of(found: Keys, window: Window | None = None, filler: Filler = Filler.OURS) -> Section:
    tally = Tally("s", filler, Canvas(window) if window else None)
    for epoch, word in found:
        tally.add(Finding(epoch, word, timedelta(0), Fate.MISSING))
    return tally.section(len(found), len(found))


@given(keys())
def test_a_section_counts_as_a_person_would(found: Keys) -> None:
    section = section_of(found)
    assert section.counts == dict(Counter(word for _, word in found))
    gravest = [word for word in OccurrenceClass if word in dict.fromkeys(w for _, w in found)]
    assert section.worst == (gravest[0] if gravest else None)
    runs = [
        [epoch for epoch, _ in run]
        for missing, run in groupby(found, key=lambda key: key[1] == "missing")
        if missing
    ]
    assert section.gaps == tuple(Gap(run[0], run[-1], len(run)) for run in runs)


@given(keys(), st.sampled_from([1, 10, 31, 500]))
def test_a_picture_holds_every_key_in_its_cell(found: Keys, days: int) -> None:
    picture = section_of(found, Window(START, START + days * DAY)).picture
    assert picture is not None
    few = len(found) <= KEYS_A_DAY * (days + 1)
    assert picture.grain == {1: "key" if few else "hour", 10: "key", 31: "day", 500: "week"}[days]
    total: Counter[OccurrenceClass] = Counter()
    for cell in picture.cells:
        end = cell.start + picture.grain.seconds
        assert cell.counts == dict(Counter(w for e, w in found if cell.start <= e < end))
        total.update(cell.counts)
    assert total == Counter(word for _, word in found)
    starts = [cell.start for cell in picture.cells]
    assert starts == sorted(set(starts))


def test_many_keys_in_a_short_window_share_a_cell_an_hour() -> None:
    first = int(START.timestamp())
    found: Keys = [(first + 60 * n, OccurrenceClass.COMPLETED) for n in range(2 * KEYS_A_DAY + 1)]
    window = Window(START, START + DAY)
    one_less = section_of(found[:-1], window).picture
    assert one_less is not None
    assert (one_less.grain, len(one_less.cells)) == (Grain.KEY, 2 * KEYS_A_DAY)
    picture = section_of(found, window).picture
    assert picture is not None
    assert [cell.total for cell in picture.cells] == [49]
    assert picture.grain is Grain.HOUR


@pytest.mark.parametrize(("grain", "day"), [(Grain.DAY, "2026-12-03"), (Grain.WEEK, "2026-11-30")])
def test_weeks_begin_on_monday_and_days_at_midnight_utc(grain: Grain, day: str) -> None:
    epoch = int(datetime(2026, 12, 3, 23, 59, 59, tzinfo=UTC).timestamp())
    assert from_epoch(start_of(grain, epoch)) == datetime.fromisoformat(day + "T00:00:00Z")


def test_gaps_beyond_the_limit_are_counted() -> None:
    words = [OccurrenceClass.MISSING, OccurrenceClass.COMPLETED]
    section = section_of([(n, words[n % 2]) for n in range(2 * GAPS_MAX + 6)])
    assert (len(section.gaps), section.more_gaps) == (GAPS_MAX, 3)
    assert section.counts[OccurrenceClass.MISSING] == GAPS_MAX + 3


def test_the_worst_come_first_then_by_name() -> None:
    def named(name: str, **counts: int) -> Section:
        return Section(
            name, Filler.OURS, 9, 9, {OccurrenceClass(word): n for word, n in counts.items()}
        )

    ranked = [
        named("z", missing=2),
        named("a", missing=1, dead=7),
        named("m", orphaned=1),
        named("b", dead=9),
        named("y", late=1),
        named("c", completed=9),
        named("d", running=3),
    ]
    assert worst_first(reversed(ranked)) == ranked
    assert [section.is_wrong for section in ranked] == [True] * 4 + [False] * 3


def test_in_grace_is_what_no_class_accounts_for() -> None:
    counts = {OccurrenceClass.MISSING: 1, OccurrenceClass.UNEXPECTED: 5}
    assert Section("s", Filler.OURS, 4, 7, counts | {OccurrenceClass.COMPLETED: 2}).in_grace == 1


def test_the_command_names_the_gap_alone_and_survives_a_shell() -> None:
    name = 'a b\'[x="$HOME"]'
    section = Section(name, Filler.OURS, 1, 0, {})
    report = Report("my file.yaml", START, Window(START, START + DAY), (section,))
    first = int(START.timestamp())
    command = gap_command(report, section, Gap(first, first + 60, 2))
    assert command is not None
    assert shlex.split(command) == [
        "cronledger", "backfill", "my file.yaml", name,
        "--from", "2026-12-01T00:00:00Z", "--to", "2026-12-01T00:01:01Z",
    ]  # fmt: skip
    assert fill_command(report, ()) == (
        "cronledger backfill 'my file.yaml' --from 2026-12-01T00:00:00Z --to 2026-12-02T00:00:00Z"
    )
    for filler in (Filler.GONE, Filler.MANAGED):
        assert gap_command(report, Section(name, filler, 1, 0, {}), Gap(0, 0, 1)) is None


def test_every_class_is_wrong_or_fine_or_between() -> None:
    between = set(OccurrenceClass) - FINE - {"missing", "unexpected", "orphaned", "dead"}
    assert between == {"cancelled", "late", "omitted", "suppressed"}
