"""Crons in English: the phrases, silence where none is exact, and no phrase for two meanings."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronledger.core.cron import CronError, Layout, parse
from cronledger.core.expand import instants
from cronledger.core.instants import Window, Zone
from cronledger.core.schedule import DayRule, Timing
from cronledger.core.words import describe
from timings import SETTINGS

UTC_ZONE = Zone("UTC", "test", (), (0,))
YEARS = Window(datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 4, 1, tzinfo=UTC))
WEEK = Window(datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 8, tzinfo=UTC))

PHRASES = {
    "30 2 * * *": "at 02:30 every day",
    "@daily": "at 00:00 every day",
    "* * * * *": "every minute",
    "*/5 * * * *": "every 5 minutes",
    "0 * * * *": "every hour",
    "30 * * * *": "at minute 30 of every hour",
    "5,35 * * * *": "at minutes 5 and 35 of every hour",
    "0 9,12,17 * * *": "at 09:00, 12:00 and 17:00 every day",
    "0 */2 * * *": "every 2 hours from 00:00 to 22:00",
    "*/15 8-17 * * 1-5": "every 15 minutes from 08:00 to 17:45 on Mondays to Fridays",
    "0 9 LW * *": "at 09:00 on the last working day (Monday to Friday) of the month",
    "0 9 1W * *": "at 09:00 on the working day (Monday to Friday) nearest to the 1st of the month",
    "0 9 L-2 * *": "at 09:00 on the day 2 days before the last of the month",
    "0 0 1,15 * *": "at 00:00 on the 1st and 15th of the month",
    "0 0 31 * *": "at 00:00 on the 31st of each month that has it",
    "0 0 1 1 *": "at 00:00 on the 1st of January",
    "0 0 * * 1#2": "at 00:00 on the second Monday of the month",
    "0 0 * 1,7 5L": "at 00:00 on the last Friday of January and July",
    "0 9 * * sat,sun": "at 09:00 on Saturdays and Sundays",
    "0 0 * 6-8 *": "at 00:00 every day in June to August",
    "0 0 1-7 * 6": "at 00:00 on the 1st to 7th of the month, and on Saturdays",
    "0 0 */10 * 1": "at 00:00 on Mondays that fall on the 1st, 11th, 21st and 31st of the month",
}


@pytest.mark.parametrize("text", PHRASES)
def test_a_cron_is_said_in_english(text: str) -> None:
    assert describe(parse(text), DayRule.VIXIE) == PHRASES[text]


def test_the_day_rule_decides_how_both_day_fields_are_said() -> None:
    cron = parse("0 0 13 * 5")
    assert describe(cron, DayRule.OR) == "at 00:00 on the 13th of the month, and on Fridays"
    assert describe(cron, DayRule.AND) == "at 00:00 on Fridays that fall on the 13th of the month"


def test_seconds_and_years_are_said() -> None:
    assert describe(parse("*/10 * * * * *", Layout.SECONDS), DayRule.VIXIE) == "every 10 seconds"
    in_years = parse("0 0 1 1 * 2027,2029", Layout.YEAR)
    assert describe(in_years, DayRule.VIXIE) == "at 00:00 on the 1st of January, in 2027 and 2029"


@pytest.mark.parametrize("text", ["*/7 * * * *", "1,2,5,9,12,13,30 5,9 * * *", "0 0 * * 1#5"])
def test_what_no_short_sentence_says_exactly_is_not_said(text: str) -> None:
    assert describe(parse(text), DayRule.VIXIE) is None


MINUTES = st.sampled_from(
    ["0", "30", "*", "*/5", "*/7", "*/15", "5,35", "10-50/10", "0-59", "3/20"]
)
HOURS = st.sampled_from(["*", "2", "*/2", "8-17", "0,12", "0-23", "1-23/2", "9,10,11", "*/5"])
DAYS = st.sampled_from(
    ["*", "1", "31", "1-7", "*/10", "L", "LW", "15W", "1,L", "L-2", "1-31", "13"]
)
MONTHS = st.sampled_from(["*", "1", "6-8", "1,7", "*/3"])
WEEKDAYS = st.sampled_from(["*", "1", "1-5", "0,6", "1#2", "5L", "1#5", "0-6", "*/2", "5,1#1", "7"])
CRONS = st.tuples(MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS, st.sampled_from(list(DayRule)))


@given(st.lists(CRONS, min_size=30, max_size=60))
@settings(SETTINGS, max_examples=25)
def test_two_crons_with_one_sentence_run_at_the_same_times(crons: list[tuple[str, ...]]) -> None:
    by_words: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for *fields, rule in crons:
        text = " ".join(fields)
        try:
            cron = parse(text)
        except CronError:
            continue
        words = describe(cron, DayRule(rule))
        if words is not None:
            by_words[words].add(_signature(Timing(cron, day_rule=DayRule(rule))))
    assert all(len(times) == 1 for times in by_words.values())


def _signature(timing: Timing) -> tuple[int, ...]:
    """The days of fifteen months on which it runs, and the times of the first of them."""
    found = instants(timing, UTC_ZONE, YEARS)
    days = tuple(sorted({at // 86400 for at in found}))
    return (*days, *(at % 86400 for at in found if at // 86400 == days[0])) if days else ()


def test_the_times_told_are_those_of_the_expander() -> None:
    """Spot check of the phrases with a count that follows from their words."""
    counts = {"*/5 * * * *": 12 * 24 * 7, "*/15 8-17 * * 1-5": 4 * 10 * 5, "0 */2 * * *": 12 * 7}
    for text, count in counts.items():
        assert len(instants(Timing(parse(text)), UTC_ZONE, WEEK)) == count
    assert WEEK.end - WEEK.start == timedelta(days=7)
