"""Quartz's dialect: the same days in our own words, and its mistakes at their columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.cron import CronError, Layout
from cronledger.core.quartz import parse_quartz


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("0/20 * 8-17 ? * 2-6", "0/20 * 8-17 * * MON-FRI"),
        ("0 0 12 * * ?", "0 0 12 * * *"),
        ("0 15 10 ? * 6L", "0 15 10 * * FRIL"),
        ("0 15 10 ? * 6#3", "0 15 10 * * FRI#3"),
        ("0 15 10 ? * fri#3", "0 15 10 * * fri#3"),
        ("0 0 0 L-3 * ?", "0 0 0 L-3 * *"),
        ("0 0 0 LW * ?", "0 0 0 LW * *"),
        ("0 0 0 ? * L", "0 0 0 * * SAT"),
        ("0 0 0 ? * 1,3-5", "0 0 0 * * SUN,TUE-THU"),
        ("0 0 0 1 JAN ? 2027/2", "0 0 0 1 JAN * 2027/2"),
    ],
)
def test_an_expression_is_shown_in_our_own_words(text: str, ours: str) -> None:
    assert parse_quartz(text).text == ours


def test_the_year_is_read_where_it_is_given() -> None:
    assert parse_quartz("0 0 0 1 1 ? 2027-2029").years == (2027, 2028, 2029)
    assert parse_quartz("0 0 0 1 1 ?").layout is Layout.SECONDS


@given(st.integers(1, 7), st.integers(1, 7))
def test_a_step_of_weekdays_ends_with_saturday(first: int, step: int) -> None:
    found = parse_quartz(f"0 0 0 ? * {first}/{step}")
    assert found.weekdays == tuple(number - 1 for number in range(first, 8, step))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("0 0 12 * *", 10, "5 fields instead of 6 or 7; Quartz has second minute hour"),
        ("0 0 0 * * *", 10, "one day field only; write ? here"),
        ("0 0 0 * * 2", 6, "one day field only; write ? here"),
        ("0 0 0 1 * 2", 10, "write ? in the other, and two schedules for two"),
        ("0 0 0 ? * ?", 10, "? in both day fields names no day"),
        ("0 0 0 ? * 8", 10, "day-of-week 8 is out of bounds; write 1 (Sunday) to 7"),
        ("0 0 0 ? * 2,0", 12, "day-of-week 0 is out of bounds"),
        ("0  0 25 ? * 1", 5, "hour 25 is out of bounds"),
        ("0 0 0 ? * 6-2", 10, "range FRI-MON runs backwards; write FRI-SAT,SUN-MON"),
        ("0 0 0 30 2 ?", 6, "never fires"),
        ("? 0 0 1 * ?", 0, "write * for any value"),
        ("*" * 501, 500, "longer than 500 characters"),
    ],
)
def test_a_mistake_is_refused_at_its_column(text: str, column: int, message: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_quartz(text)
    assert (caught.value.column, message in caught.value.message) == (column, True)


WORDS = st.text(st.sampled_from("0123456789*?/#,-LWSUNMOFRI"), min_size=1, max_size=6)


@given(st.lists(WORDS | st.just("?") | st.just("*"), max_size=8).map(" ".join))
def test_any_words_are_read_or_refused_within_the_text(text: str) -> None:
    assert 0 <= column_of_refusal(text) <= len(text)


def column_of_refusal(text: str) -> int:
    """Where the text is refused; 0 if it is read."""
    try:
        parse_quartz(text)
    except CronError as error:
        return error.column
    return 0
