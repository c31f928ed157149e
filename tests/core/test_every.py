"""Steps: elapsed time from an anchor, and days and months that are always anchor + k."""

from __future__ import annotations

import calendar
import time
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronledger.core.every import (
    Elapsed,
    MonthEnd,
    Step,
    Stride,
    elapsed_epochs,
    parse_step,
    stride_walls,
)
from cronledger.core.instants import format_wall, parse_wall

DAY = 86400
ANCHORS = st.integers(0, 100 * 365 * DAY)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("PT5M", Step(seconds=300)),
        ("PT24H", Step(seconds=86400)),
        ("PT1H30M15S", Step(seconds=5415)),
        ("5m", Step(seconds=300)),
        ("90s", Step(seconds=90)),
        ("P1D", Step(days=1)),
        ("P2W", Step(days=14)),
        ("P1W3D", Step(days=10)),
        ("P1M", Step(months=1)),
        ("P1Y6M", Step(months=18)),
    ],
)
def test_a_step_is_elapsed_or_of_the_calendar(text: str, step: Step) -> None:
    assert parse_step(text) == step


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7d", "write P7D for days of the calendar, PT168H for hours that pass"),
        ("2w", "write P2W for days of the calendar, PT336H for hours that pass"),
        ("P1DT12H", "write one of the two, such as P1D or PT36H"),
        ("P1M10D", "write one of the two, or both under 'any'"),
        ("PT0S", "never moves on; write PT5M or P1D"),
        ("P0D", "never moves on"),
        ("P", "expected a step such as PT5M"),
        ("PT", "expected a duration such as PT5M"),
        ("five minutes", "expected a step such as PT5M, P1D, P2W or P1M"),
        ("P200001D", "never comes twice"),
        ("P9999Y", "never comes twice"),
        ("PT99999999999H", "longer than any schedule"),
    ],
)
def test_another_step_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_step(text)


@given(st.integers(1, 10_000_000), ANCHORS, st.integers(-(10**9), 10**10), st.integers(0, 10**5))
def test_elapsed_times_are_the_anchor_and_multiples(
    seconds: int, anchor: int, start: int, length: int
) -> None:
    found = list(elapsed_epochs(Elapsed(seconds, anchor), start, start + length))
    wanted = [
        at for at in range(max(start, anchor), start + length) if (at - anchor) % seconds == 0
    ]
    assert found == wanted


def plus_months(anchor: int, months: int, month_end: MonthEnd) -> int | None:
    """The anchor and so many months by another way: a year and a month counted up one by one."""
    at = datetime.fromisoformat(format_wall(anchor))
    year, month = at.year, at.month
    for _ in range(months):
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    first = at.replace(year=year, month=month, day=1)
    length = calendar.monthrange(year, month)[1]
    if at.day <= length:
        return parse_wall(at.replace(year=year, month=month).isoformat())
    if month_end is MonthEnd.OMIT:
        return None
    days = length - 1 if month_end is MonthEnd.BACKWARD else length
    return parse_wall((first + timedelta(days=days)).isoformat())


@settings(deadline=None)
@given(
    ANCHORS,
    st.integers(1, 40),
    st.sampled_from(MonthEnd),
    st.integers(-400 * DAY, 4000 * DAY),
    st.integers(0, 4000 * DAY),
)
def test_a_month_is_always_the_anchor_and_so_many_steps(
    anchor: int, months: int, month_end: MonthEnd, offset: int, length: int
) -> None:
    first, last = anchor + offset, anchor + offset + length
    every = [plus_months(anchor, k * months, month_end) for k in range(280 // months + 2)]
    wanted = [at for at in every if at is not None and first <= at < last]
    assert stride_walls(Stride(anchor, months=months, month_end=month_end), first, last) == wanted


@given(ANCHORS, st.integers(1, 400), st.integers(-400 * DAY, 4000 * DAY))
def test_a_day_is_always_the_anchor_and_so_many_steps(anchor: int, days: int, offset: int) -> None:
    first = anchor + offset
    found = stride_walls(Stride(anchor, days=days), first, first + 900 * DAY)
    wanted = [anchor + k * days * DAY for k in range(5000 // days + 2)]
    assert found == [at for at in wanted if first <= at < first + 900 * DAY]


def test_a_window_far_from_the_anchor_costs_no_walk() -> None:
    began = time.perf_counter()
    far = parse_wall("2198-01-01T00:00:00")
    assert len(elapsed_epochs(Elapsed(1), far, far + 3600)) == 3600
    assert len(stride_walls(Stride(0, months=1), far, far + 400 * DAY)) == 14
    assert len(stride_walls(Stride(0, days=1), far, far + 400 * DAY)) == 400
    assert time.perf_counter() - began < 0.1


def test_a_step_says_what_it_is() -> None:
    assert Elapsed(86400).text == "every PT24H"
    assert Elapsed(5415, 60).text == "every PT1H30M15S from 1970-01-01T00:01:00Z"
    assert Stride(0, days=14).text == "every P14D from 1970-01-01T00:00:00"
    assert Stride(0, months=18).text == "every P18M from 1970-01-01T00:00:00"
