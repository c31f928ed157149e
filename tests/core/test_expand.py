"""Expansion at the clock changes of strange zones, and the bounds of a timing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import Layout, parse
from cronledger.core.expand import Occurrence, expand, instants, never_fires, next_after
from cronledger.core.instants import HORIZON, Window, format_instant, from_epoch, parse_instant
from cronledger.core.schedule import DST_PRESETS, DayRule, Dst, Fold, Gap, Timing, Wildcard

ZONES = PinnedZones()
RFC = DST_PRESETS["rfc5545"]


def window(start: str, end: str) -> Window:
    return Window(parse_instant(start), parse_instant(end))


def owed(cron: str, zone: str, dst: Dst, start: str, end: str) -> list[Occurrence]:
    return expand(Timing(parse(cron), zone, dst), ZONES.load(zone), window(start, end))


def times(found: list[Occurrence]) -> list[str]:
    return [format_instant(occurrence.logical_time) for occurrence in found]


@pytest.mark.parametrize(
    ("zone", "day", "instant"),
    [
        ("Australia/Lord_Howe", "2026-07-01", "2026-06-30T15:45:00Z"),
        ("Pacific/Chatham", "2026-07-01", "2026-06-30T13:30:00Z"),
        ("Antarctica/Troll", "2026-07-01", "2026-07-01T00:15:00Z"),
        ("Pacific/Apia", "2026-07-01", "2026-06-30T13:15:00Z"),
    ],
)
def test_unambiguous(zone: str, day: str, instant: str) -> None:
    start = parse_instant(f"{day}T00:00:00Z") - timedelta(hours=14)
    timing = Timing(parse("15 2 * * *"), zone)
    found = expand(timing, ZONES.load(zone), Window(start, start + timedelta(days=1)))
    assert times(found) == [instant]
    assert (found[0].fold, found[0].moved, found[0].collapsed) == (0, False, 1)
    assert found[0].local_time == datetime.fromisoformat(f"{day}T02:15:00")


@pytest.mark.parametrize(
    ("zone", "cron", "first", "second"),
    [
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"),
        ("Pacific/Chatham", "0 3 * * *", "2026-04-04T13:15:00Z", "2026-04-04T14:15:00Z"),
        ("Antarctica/Troll", "30 1 * * *", "2026-10-24T23:30:00Z", "2026-10-25T01:30:00Z"),
        ("America/New_York", "30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
    ],
)
def test_repeated_time(zone: str, cron: str, first: str, second: str) -> None:
    start, end = f"{first[:10]}T12:00:00Z", f"{second[:10]}T20:00:00Z"
    if first[11:13] < "12":
        start = f"{first[:10]}T00:00:00Z"
    answers = {
        fold: times(owed(cron, zone, Dst(Gap.NEXT, fold, Wildcard.SAME), start, end))
        for fold in Fold
    }
    assert answers == {Fold.FIRST: [first], Fold.SECOND: [second], Fold.BOTH: [first, second]}
    both = owed(cron, zone, Dst(Gap.NEXT, Fold.BOTH, Wildcard.SAME), start, end)
    assert [occurrence.fold for occurrence in both] == [0, 1]
    assert both[0].local_time == both[1].local_time


@pytest.mark.parametrize(
    ("zone", "cron", "shifted", "after"),
    [
        ("Australia/Lord_Howe", "10 2 * * *", "2026-10-03T15:40:00Z", "2026-10-03T15:30:00Z"),
        ("Pacific/Chatham", "0 3 * * *", "2026-09-26T14:15:00Z", "2026-09-26T14:00:00Z"),
        ("Antarctica/Troll", "45 2 * * *", "2026-03-29T02:45:00Z", "2026-03-29T01:00:00Z"),
        ("Pacific/Apia", "30 2 30 12 *", "2011-12-30T12:30:00Z", "2011-12-30T10:00:00Z"),
    ],
)
def test_skipped_time(zone: str, cron: str, shifted: str, after: str) -> None:
    start, end = f"{after[:10]}T00:00:00Z", f"{after[:10]}T23:59:59Z"
    answers = {
        gap: [
            (format_instant(o.logical_time), o.collapsed)
            for o in owed(cron, zone, Dst(gap, Fold.FIRST, Wildcard.SAME), start, end)
            if o.moved
        ]
        for gap in Gap
    }
    assert answers == {Gap.SKIP: [], Gap.SHIFT: [(shifted, 1)], Gap.NEXT: [(after, 1)]}


def test_a_moved_time_that_meets_one_asked_for_is_one_occurrence_of_two() -> None:
    found = owed(
        "30 2,3 * * *", "America/New_York", RFC, "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"
    )
    assert [(o.collapsed, o.moved) for o in found] == [(2, False)]


def test_every_wall_time_of_the_day_that_apia_skipped_collapses_into_one() -> None:
    found = owed(
        "0 0-23 * * *",
        "Pacific/Apia",
        DST_PRESETS["cron"],
        "2011-12-30T10:00:00Z",
        "2011-12-30T10:00:01Z",
    )
    # All 24 of the missing 30th, and midnight of the 31st itself.
    assert [(o.collapsed, o.moved) for o in found] == [(25, False)]


def test_a_wildcard_runs_on_every_real_slot_of_a_two_hour_gap_and_fold() -> None:
    for day, slots in (("2026-03-29", 24), ("2026-10-25", 24)):
        start = f"{day}T00:00:00Z"
        end = format_instant(parse_instant(start) + timedelta(days=1))
        assert len(owed("0 * * * *", "Antarctica/Troll", DST_PRESETS["cron"], start, end)) == slots


def test_airflow_counts_only_a_bare_hour_as_wildcard() -> None:
    preset = DST_PRESETS["airflow"]
    at = ("America/New_York", preset, "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z")
    assert len(owed("30 * * * *", *at)) == 2
    assert times(owed("*/30 1 * * *", *at)) == ["2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z"]


def test_start_is_included_and_end_is_not() -> None:
    timing = Timing(
        parse("0 * * * *"),
        start=datetime(2026, 1, 1, 1, tzinfo=UTC),
        end=datetime(2026, 1, 1, 3, tzinfo=UTC),
    )
    found = expand(
        timing, ZONES.load("UTC"), window("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    )
    assert times(found) == ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]
    later = next_after(timing, ZONES.load("UTC"), datetime(2025, 6, 1, tzinfo=UTC), 9)
    assert later == found


def test_an_empty_window_owes_nothing() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert expand(Timing(parse("* * * * *")), ZONES.load("UTC"), Window(at, at)) == []


def test_a_window_with_fractions_of_a_second_begins_at_the_next_second() -> None:
    start = datetime(2026, 1, 1, microsecond=1, tzinfo=UTC)
    found = instants(
        Timing(parse("* * * * *")), ZONES.load("UTC"), Window(start, start + timedelta(minutes=1))
    )
    assert found == [int(datetime(2026, 1, 1, 0, 1, tzinfo=UTC).timestamp())]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "Asia/Manila"])
def test_the_widest_window_of_datetime_is_answered(zone: str) -> None:
    whole = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    found = instants(Timing(parse("0 0 1 1 *"), zone), ZONES.load(zone), whole)
    assert len(found) == 2198 + (zone != "UTC")
    assert found[-1] < HORIZON


def test_next_is_strictly_after_and_stops_at_the_horizon() -> None:
    timing, zone = Timing(parse("0 0 29 2 *")), ZONES.load("UTC")
    after = datetime(2096, 2, 29, tzinfo=UTC)
    assert times(next_after(timing, zone, after, 1)) == ["2104-02-29T00:00:00Z"]
    assert len(next_after(timing, zone, after, 1000)) == 24
    assert next_after(timing, zone, from_epoch(HORIZON), 1) == []
    assert next_after(timing, zone, datetime.max.replace(tzinfo=UTC), 1) == []


def test_next_reaches_a_distant_year_quickly_and_in_order() -> None:
    timing = Timing(parse("* * * * * 2150", Layout.YEAR), "America/New_York")
    found = next_after(timing, ZONES.load("America/New_York"), datetime(2026, 1, 1, tzinfo=UTC), 2)
    assert times(found) == ["2150-01-01T05:00:00Z", "2150-01-01T05:01:00Z"]


@pytest.mark.parametrize(
    ("cron", "rule", "never"),
    [
        ("0 0 */14 * 2#2", DayRule.VIXIE, True),
        ("0 0 */14 * 2#2", DayRule.OR, False),
        ("0 0 13 * 5", DayRule.AND, False),
        ("0 0 30 2 1", DayRule.AND, True),
        ("0 0 30 2 1", DayRule.VIXIE, False),
        ("0 0 29 2 1#5", DayRule.AND, False),
    ],
)
def test_whether_it_ever_fires_depends_on_the_day_rule(
    cron: str, rule: DayRule, never: bool
) -> None:
    assert never_fires(Timing(parse(cron), day_rule=rule)) is never
