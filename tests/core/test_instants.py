"""Instants, windows, durations, and what a zone says of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.instants import (
    EPOCH,
    Segment,
    Window,
    Zone,
    format_duration,
    format_instant,
    from_epoch,
    parse_duration,
    parse_instant,
    to_epoch,
    up_to,
)

# An hour ahead from 1,000,000 on, back again at 2,000,000: one gap and one fold.
SUMMER = Zone("Test/Summer", "2026f", (1_000_000, 2_000_000), (0, 3600, 0))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@given(st.integers(-62_000_000_000, 250_000_000_000))
def test_an_epoch_comes_back_from_its_datetime(epoch: int) -> None:
    assert to_epoch(from_epoch(epoch)) == epoch
    assert to_epoch(from_epoch(epoch) + timedelta(microseconds=999_999)) == epoch


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-29T01:00:00Z", datetime(2026, 3, 29, 1, tzinfo=UTC)),
        ("2026-03-29t01:00z", datetime(2026, 3, 29, 1, tzinfo=UTC)),
        (" 2026-03-29 01:00:00 ", datetime.fromisoformat("2026-03-29T01:00:00")),
        ("2026-03-29", datetime.fromisoformat("2026-03-29")),
        (
            "2026-03-29T01:00:00+02:00",
            datetime(2026, 3, 29, 1, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("2026-03-29T01:00:00-0330", datetime.fromisoformat("2026-03-29T04:30:00Z")),
    ],
)
def test_a_time_is_read_as_it_is_written(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    "text", ["", "now", "2026-3-29", "2026-03-29T01", "2026-03-29T01:00:00.5Z"]
)
def test_another_form_of_time_is_refused_with_the_one_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time such as 2026-03-29T01:00:00Z"):
        parse_instant(text)


@pytest.mark.parametrize("text", ["2026-02-30T00:00:00Z", "2026-01-01T24:01:00Z"])
def test_a_time_that_no_calendar_has_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_instant(text)


def test_an_instant_is_shown_in_utc_whatever_its_zone() -> None:
    instant = datetime(2026, 3, 29, 1, 0, 0, 500_000, tzinfo=timezone(timedelta(hours=2)))
    assert format_instant(instant) == "2026-03-28T23:00:00Z"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("PT5M", 300),
        ("P1DT12H", 129_600),
        ("P1W", 604_800),
        ("PT1H1M1S", 3661),
        (" PT0S ", 0),
    ],
)
def test_a_duration_is_read_in_both_forms(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "m", "P", "PT", "P1DT", "P1M", "P1Y", "-PT5M", "1.5h", "5 m"]
)
def test_another_form_of_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration such as PT5M, 90s or 7d"):
        parse_duration(text)


def test_a_duration_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than any schedule"):
        parse_duration("999999999999w")


@given(st.timedeltas(timedelta(0), timedelta(days=10_000)))
def test_a_duration_is_read_back_as_it_was_shown(span: timedelta) -> None:
    whole = timedelta(seconds=span // timedelta(seconds=1))
    assert parse_duration(format_duration(span)) == whole


def test_a_window_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValueError, match="swap the two"):
        Window(EPOCH, EPOCH - timedelta(seconds=1))


def test_an_intersection_keeps_what_both_hold_and_may_be_empty() -> None:
    window = Window(at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"))
    noon, later = at("2026-01-01T12:00:00Z"), at("2026-01-03T00:00:00Z")
    assert window.intersect(noon, None) == Window(noon, window.end)
    assert window.intersect(EPOCH, noon) == Window(window.start, noon)
    assert window.intersect(later, None).epochs() == (to_epoch(later), to_epoch(later))


def test_epochs_of_a_window_with_fractions_are_those_inside_it() -> None:
    start, end = EPOCH + timedelta(microseconds=1), EPOCH + timedelta(seconds=2, microseconds=1)
    assert Window(start, end).epochs() == (1, 3)


def test_up_to_now_holds_now_itself_and_never_runs_backwards() -> None:
    now = EPOCH + timedelta(seconds=9, microseconds=5)
    assert up_to(EPOCH, now).epochs() == (0, 10)
    assert up_to(now + timedelta(days=1), now).epochs() == (10, 10)


@pytest.mark.parametrize(
    ("epoch", "offset", "fold"),
    [
        (999_999, 0, 0),
        (1_000_000, 3600, 0),
        (1_999_999, 3600, 0),
        (2_000_000, 0, 1),
        (2_003_599, 0, 1),
        (2_003_600, 0, 0),
    ],
)
def test_offset_and_fold_change_at_the_second(epoch: int, offset: int, fold: int) -> None:
    assert SUMMER.offset_at(epoch) == offset
    assert SUMMER.fold_at(epoch) == fold


@pytest.mark.parametrize(
    ("start", "end", "starts"),
    [
        (0, 999_999, [-(10**12)]),
        (0, 1_000_000, [-(10**12)]),
        (0, 1_000_001, [-(10**12), 1_000_000]),
        (1_000_000, 3_000_000, [1_000_000, 2_000_000]),
        (1_999_999, 2_000_000, [1_000_000]),
        (5_000_000, 5_000_001, [2_000_000]),
    ],
)
def test_segments_are_those_that_touch_the_span(start: int, end: int, starts: list[int]) -> None:
    assert [segment.start for segment in SUMMER.segments(start, end)] == starts


def test_segments_lie_end_to_end_with_their_offsets() -> None:
    assert list(SUMMER.segments(-(10**11), 10**11)) == [
        Segment(-(10**12), 1_000_000, 0),
        Segment(1_000_000, 2_000_000, 3600),
        Segment(2_000_000, 10**12, 0),
    ]
