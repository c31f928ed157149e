"""Whether a window is long enough to judge a schedule by: tables, by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronledger.adapters.zones import PinnedZones
from cronledger.core.coverage import Uncovered, uncovered
from cronledger.core.diff import OccurrenceClass
from cronledger.core.expected import Standing, expected
from cronledger.core.instants import Window
from cronledger.core.report import Filler, Section
from cronledger.core.schedule import Version
from ledgers import schedule_of, time

ZONES = PinnedZones()
LONG_AGO = "2020-01-01"


def judged(
    line: str, start: str, end: str, *, decided: int | None = None, loaded: str = LONG_AGO
) -> Uncovered | None:
    """The verdict, if so many of the keys in the window were decided on; all, if not given."""
    schedule = schedule_of(line)
    standing = Standing(1, "s", time(end), (Version(1, time(loaded), None, schedule.timing),))
    window = Window(time(start), time(end))
    owed = expected(standing.versions, window, ZONES.load)
    count = len(owed) if decided is None else decided
    counts = {OccurrenceClass.COMPLETED: count} if count else {}
    return uncovered(
        standing, Section("s", Filler.OURS, len(owed), count, counts), window, ZONES.load
    )


@pytest.mark.parametrize(
    ("line", "start", "end"),
    [
        ("s: cron: '0 * * * *'", "2026-12-01T10:30", "2026-12-01T11:31"),
        ("s: cron: '*/5 * * * *'", "2026-12-01T10:00", "2026-12-02T10:00"),
        ("s: cron: '30 2 * * *'", "2026-12-01T10:00", "2026-12-02T10:00"),
        ("s: cron: '0 9 * * 1-5'", "2026-12-06T10:00", "2026-12-07T10:00"),  # Sunday to Monday
        ("s: cron: '0 0 1 * *'", "2026-11-15", "2026-12-16"),
        # 25 hours lie before this one, and 24 after it.
        (
            "s: cron: '0 4 * * *', timezone: Europe/Berlin",
            "2026-10-24T10:00",
            "2026-10-25T10:00",
        ),
        ("s: at: ['2026-01-01T00:00Z']", "2026-12-01", "2026-12-02"),  # never due again
        ("s: cron: '0 0 * * *', end: 2026-06-01", "2026-12-01", "2026-12-02"),
    ],
)
def test_a_window_as_long_as_an_interval_covers_it(line: str, start: str, end: str) -> None:
    assert judged(line, start, end) is None


@pytest.mark.parametrize(
    ("line", "start", "end", "found"),
    [
        (  # a key, but not the whole of an hour
            "s: cron: '0 * * * *'",
            "2026-12-01T10:30",
            "2026-12-01T11:20",
            Uncovered("s", 1, time("2026-12-01T12:00"), timedelta(hours=1)),
        ),
        (
            "s: cron: '30 2 * * *'",
            "2026-12-01T10:00",
            "2026-12-01T22:00",
            Uncovered("s", 0, time("2026-12-02T02:30")),
        ),
        (
            "s: cron: '0 9 * * 1-5'",
            "2026-12-05T10:00",
            "2026-12-06T10:00",
            Uncovered("s", 0, time("2026-12-07T09:00")),
        ),
        (
            "s: cron: '0 0 1 1 *'",
            "2026-12-31",
            "2027-01-02",
            Uncovered("s", 1, time("2028-01-01"), timedelta(days=365)),
        ),
    ],
)
def test_a_shorter_one_does_not(line: str, start: str, end: str, found: Uncovered) -> None:
    assert judged(line, start, end) == found


def test_what_is_within_its_grace_is_not_decided() -> None:
    window = ("2026-12-01T10:30", "2026-12-01T12:01")
    found = judged("s: cron: '0 * * * *'", *window, decided=0)
    assert found == Uncovered("s", 2, time("2026-12-01T13:00"))
    assert judged("s: cron: '0 * * * *'", *window, decided=1) is None


def test_the_time_before_the_first_load_does_not_count() -> None:
    window = ("2026-12-01", "2026-12-02T00:00:01")
    loaded = "2026-12-01T23:30"
    found = judged("s: cron: '0 * * * *'", *window, loaded=loaded)
    assert found == Uncovered("s", 1, time("2026-12-02T01:00"), timedelta(hours=1))
    assert judged("s: cron: '0 * * * *'", *window, loaded="2026-12-01T22:30") is None


def test_a_schedule_that_ended_before_the_window_is_not_asked() -> None:
    timing = schedule_of("s: cron: '0 * * * *'").timing
    ended = Version(1, time(LONG_AGO), time("2026-11-30"), timing)
    standing = Standing(1, "s", time("2026-11-30"), (ended,))
    window = Window(time("2026-12-01"), time("2026-12-02"))
    assert uncovered(standing, None, window, ZONES.load) is None
