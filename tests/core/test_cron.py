"""The cron reader: what it accepts, what it refuses and where, and that nothing else escapes it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cronledger.core.cron import TEXT_MAX, Cron, CronError, Layout, matching_days, parse

ALL_HOURS = tuple(range(24))


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("5,3-4,3 * * * *", "minutes", (3, 4, 5)),
        ("10/20 * * * *", "minutes", (10, 30, 50)),
        ("59/15 * * * *", "minutes", (59,)),
        ("10-20/5 * * * *", "minutes", (10, 15, 20)),
        ("*/90 * * * *", "minutes", (0,)),
        ("0 */5 * * *", "hours", (0, 5, 10, 15, 20)),
        ("0 0 */10 * *", "days", (1, 11, 21, 31)),
        ("0 0 1 jan,Feb-MAR,12 *", "months", (1, 2, 3, 12)),
        ("0 0 * * 7", "weekdays", (0,)),
        ("0 0 * * 0-7", "weekdays", (0, 1, 2, 3, 4, 5, 6)),
        ("0 0 * * sat-sun", "weekdays", (0, 6)),
        ("0 0 * * MON-SUN", "weekdays", (0, 1, 2, 3, 4, 5, 6)),
        ("0 0 * * SUN-TUE", "weekdays", (0, 1, 2)),
        ("0 0 * * 5/2", "weekdays", (0, 5)),
        ("0 0 * * */2", "weekdays", (0, 2, 4, 6)),
        ("0 0 L,L-3 * *", "last_days", (0, 3)),
        ("0 0 15W,lw,1W * *", "nearest_weekdays", (0, 1, 15)),
        ("0 0 * * fri#2,7#1,MON#5", "nth_weekdays", ((0, 1), (1, 5), (5, 2))),
        ("0 0 * * FRIL,0l,6L", "last_weekdays", (0, 5, 6)),
        ("@Hourly", "hours", ALL_HOURS),
        ("@weekly", "weekdays", (0,)),
        ("@yearly", "months", (1,)),
        ("  0\t12  * * *\n", "hours", (12,)),
    ],
)
def test_a_field_is_read_as_its_values(text: str, field: str, values: tuple[object, ...]) -> None:
    assert getattr(parse(text), field) == values


@pytest.mark.parametrize(
    ("text", "layout", "seconds", "years"),
    [
        ("0 0 * * *", Layout.FIVE, (0,), None),
        ("*/20 0 0 * * *", Layout.SECONDS, (0, 20, 40), None),
        ("0 0 * * * 2027,2030", Layout.YEAR, (0,), (2027, 2030)),
        ("0 0 * * * *", Layout.YEAR, (0,), None),
        ("7 0 0 * * * 2027-2028", Layout.SEVEN, (7,), (2027, 2028)),
    ],
)
def test_the_layout_says_which_field_is_which(
    text: str, layout: Layout, seconds: tuple[int, ...], years: tuple[int, ...] | None
) -> None:
    cron = parse(text, layout)
    assert (cron.layout, cron.seconds, cron.years) == (layout, seconds, years)


def test_what_the_policies_ask_about_is_kept_from_the_text() -> None:
    plain, starred = parse("0 0-23 1-31 * 0-6"), parse("*/5 */2 */2 * *,1")
    assert not any(
        (plain.minute_starred, plain.hour_starred, plain.day_starred, plain.weekday_starred)
    )
    assert starred.minute_starred
    assert starred.hour_starred
    assert not starred.hour_bare
    assert starred.day_starred
    assert not starred.day_bare
    assert starred.weekday_starred
    assert not starred.weekday_bare
    bare = parse("* * * * *")
    assert bare.hour_bare
    assert bare.day_bare
    assert bare.weekday_bare


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "0 fields instead of 5; write minute hour day-of-month month day-of-week"),
        ("0 0 *", 5, "3 fields instead of 5; write minute"),
        (
            "0 0 * * * *",
            10,
            '{expr: "0 0 * * * *", fields: 6s} or {expr: "0 0 * * * *", fields: 6y}',
        ),
        ("0 0 0 * * * *", 10, '{expr: "0 0 0 * * * *", fields: 7}'),
        ("60 * * * *", 0, "minute 60 is out of bounds; write 0 to 59"),
        ("0 1,24 * * *", 4, "hour 24 is out of bounds; write 0 to 23"),
        ("0 0 0 * *", 4, "day-of-month 0 is out of bounds; write 1 to 31"),
        ("0 0 * 13 *", 6, "month 13 is out of bounds; write 1 to 12"),
        ("0 0 * * 8", 8, "day-of-week 8 is out of bounds; write 0 to 7"),
        ("*/0 * * * *", 2, "write a step of 1 or more"),
        ("1,,2 * * * *", 2, "an item of the minute list is empty; remove a comma"),
        ("1, * * * *", 2, "an item of the minute list is empty; remove a comma"),
        ("0 11-2 * * *", 2, "runs backwards; write 11-23,0-2"),
        ("0 22-0 * * *", 2, "runs backwards; write 22-23,0"),
        ("0 22-4/3 * * *", 2, "runs backwards; write 22,1,4"),
        ("0 0 28-3 * *", 4, "runs backwards; write 28-31,1-3"),
        ("0 0 1 nov-feb *", 6, "runs backwards; write NOV-DEC,JAN-FEB"),
        ("0 0 * * fri-mon", 8, "runs backwards; write FRI-SAT,SUN-MON"),
        ("0 0 * * 7-3", 8, "runs backwards; write 0-3"),
        ("0 0 * * 5-3/2", 8, "runs backwards; write 5,0,2"),
        ("0 0 * JNA *", 6, "did you mean JUN?"),
        ("0 0 * * MONDAY", 8, "did you mean MON?"),
        ("0 0 * * 1,xyzzy", 10, "write one of SUN, MON"),
        ("0 noon * * *", 2, "'NOON' is no hour; write a number from 0 to 23"),
        ("0 0 ? * *", 4, "write * for any value"),
        ("H 0 * * *", 0, "H needs the id of a schedule; write a value"),
        ("0 0 * * L", 8, "read in two ways; write SAT for Saturdays, FRIL for the last Friday"),
        ("0 0 * * L-2", 8, "FRIL for the last Friday"),
        ("0 0 * * 15W", 8, "write it in day-of-month"),
        ("0 0 * * LW", 8, "write it in day-of-month"),
        ("0 0 5L * *", 4, "write it in day-of-week"),
        ("0 0 FRI#2 * *", 6, "write it in day-of-week"),
        ("0 L * * *", 2, "write it in day-of-month or day-of-week"),
        ("0 0 L-31 * *", 6, "no month has a day L-31; write L-1 to L-30"),
        ("0 0 32W * *", 4, "day-of-month 32 is out of bounds"),
        ("0 0 * * 1#6", 10, "write 1#1 to 1#5, or 1L for the last"),
        ("0 0 * * 1#0", 10, "write 1#1 to 1#5"),
        ("0 0 * * 9L", 8, "day-of-week 9 is out of bounds"),
        ("/5 * * * *", 0, "write */5"),
        ("5/ * * * *", 1, "lacks the number of its step; write 5/5"),
        ("1-2-3 * * * *", 0, "write for example 0, 0-5, 0,2 or */2"),
        ("*-5 * * * *", 0, "write for example"),
        ("-5 * * * *", 0, "write for example"),
        ("0 0 \u0661 * *", 4, "'\u0661' has no place in a cron; remove it"),
        ("0 0 straße * *", 8, "'ß' has no place in a cron; remove it"),
        ("TZ=UTC 0 0 * * *", 0, "write timezone: beside it"),
        ("@reboot", 0, "names no time"),
        (" @every 5m", 1, "write every: PT5M in place of cron:"),
        ("@dayly", 0, "write one of @hourly, @daily"),
        ("@daily 5", 0, "stands alone"),
        ("0 0 30 2 *", 4, "never fires; change the day or the month"),
        ("0 0 31W 4,6 *", 4, "never fires"),
        ("0 0 L-30 2,4 *", 4, "never fires"),
        ("0 0 31 2,4,6,9,11 *", 4, "never fires"),
        ("*" * (TEXT_MAX + 1), TEXT_MAX, "longer than 500 characters"),
    ],
)
def test_a_mistake_is_refused_at_its_column_with_what_to_write(
    text: str, column: int, message: str
) -> None:
    with pytest.raises(CronError) as caught:
        parse(text)
    assert message in caught.value.message
    assert caught.value.column == column
    assert ";" in caught.value.message


@pytest.mark.parametrize(
    ("text", "layout", "column", "message"),
    [
        ("59 23 31 12 * 2027", Layout.SECONDS, 6, "hour 31 is out of bounds; write 0 to 23"),
        ("0 0 * * *", Layout.SECONDS, 9, "5 fields instead of 6; write second minute hour"),
        ("0 0 * * * 2200", Layout.YEAR, 10, "year 2200 is out of bounds; write 1970 to 2199"),
        ("0 0 * * * 2030-2028", Layout.YEAR, 10, "write 2028-2030"),
        ("0 0 29 2 * 2027", Layout.YEAR, 4, "never fires"),
        ("0 0 0 29 2 * 2027,2029", Layout.SEVEN, 6, "never fires"),
        ("@daily", Layout.YEAR, 0, "@daily stands for five fields; remove fields: 6y"),
    ],
)
def test_a_mistake_in_a_longer_layout_is_refused_likewise(
    text: str, layout: Layout, column: int, message: str
) -> None:
    with pytest.raises(CronError) as caught:
        parse(text, layout)
    assert message in caught.value.message
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("0 0 29 2 *", Layout.FIVE),
        ("0 0 29 2 * 2028", Layout.YEAR),
        ("0 0 31 2 MON#5", Layout.FIVE),
        ("0 0 31 2,3 *", Layout.FIVE),
        ("0 0 L-28 2 *", Layout.FIVE),
    ],
)
def test_a_rare_day_is_not_taken_for_one_that_never_comes(text: str, layout: Layout) -> None:
    assert parse(text, layout).text == text


def test_the_nearest_weekday_stays_inside_its_month() -> None:
    # 1 August 2026 is a Saturday, 31 May 2026 a Sunday: both move inwards.
    first, last = 20_454, 20_819  # the year 2026
    march_to_may = matching_days(parse("0 0 LW 5 *"), first, last, unites=False)
    august = matching_days(parse("0 0 1W 8 *"), first, last, unites=False)
    assert march_to_may == [20_602]  # Friday 29 May
    assert august == [20_668]  # Monday 3 August


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("*/5 1-3 L-2,15W * FRIL,MON#2", Layout.FIVE),
        ("@daily", Layout.FIVE),
        ("*/7 0 0 * * * 2027/3", Layout.SEVEN),
        ("0 0 * * * 2027", Layout.YEAR),
    ],
)
def test_a_spec_survives_json_exactly(text: str, layout: Layout) -> None:
    cron = parse(text, layout)
    assert Cron.from_spec(json.loads(json.dumps(cron.to_spec()))) == cron


def test_a_stored_spec_is_believed_over_its_text() -> None:
    spec = parse("0 0 * * *").to_spec() | {"text": "read otherwise today", "minutes": [7]}
    cron = Cron.from_spec(spec)
    assert (cron.text, cron.minutes) == ("read otherwise today", (7,))


# Texts made of what crons are made of reach deeper than random ones.
PIECES = st.sampled_from(
    [
        *"0123456789*/-,#?LWH \t@",
        "MON",
        "sun",
        "FEB",
        "L-",
        "15W",
        "#5",
        "*/",
        "31",
        " * *",
        "ß",
        "٣",
    ]
)
NEAR_CRON = st.lists(PIECES, max_size=40).map("".join)
FIVE_WORDS = st.lists(
    st.lists(PIECES, min_size=1, max_size=5).map("".join), min_size=4, max_size=8
).map(" ".join)


@settings(max_examples=1500, deadline=None)
@given(st.one_of(st.text(max_size=60), NEAR_CRON, FIVE_WORDS), st.sampled_from(list(Layout)))
@example("9" * 499, Layout.FIVE)
@example("*/" + "9" * 400 + " * * * *", Layout.FIVE)
@example("\x00 \x1f \x85 \u2003 0", Layout.FIVE)
def test_any_text_is_read_or_refused_within_itself(text: str, layout: Layout) -> None:
    cron, refusal = read_or_refused(text, layout)
    if refusal is not None:
        assert 0 <= refusal.column <= len(text)
        assert refusal.message
        assert refusal.message == str(refusal)
    if cron is not None:
        assert Cron.from_spec(cron.to_spec()) == cron
        assert cron.minutes
        assert cron.hours
        assert cron.months


def read_or_refused(text: str, layout: Layout) -> tuple[Cron | None, CronError | None]:
    """The cron or the refusal; whatever else is raised fails the test."""
    try:
        return parse(text, layout), None
    except CronError as error:
        return None, error
