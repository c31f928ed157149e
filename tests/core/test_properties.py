"""The expander against a walk of the clock that shares no code with it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import oracle
from cronledger.core.cron import CronError, parse
from cronledger.core.expand import expand, instants, next_after
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import DayRule, Timing
from timings import DAY_FIELDS, SETTINGS, THOROUGH, ZONES, Question, questions


def agree(question: Question) -> None:
    """Assert that expander and oracle see the same instants, and the same of each."""
    timing, zone = question.timing, oracle.pinned(question.timing.timezone)
    wanted = oracle.walk(
        question.expression, question.policies, zone, question.start, question.end, question.step
    )
    found = expand(timing, ZONES.load(timing.timezone), question.window)
    assert [o.instant for o in found] == list(wanted)
    for occurrence, landing in zip(found, wanted.values(), strict=True):
        local = occurrence.logical_time.astimezone(zone)
        assert occurrence.collapsed == landing.collapsed
        assert occurrence.moved is not landing.own
        assert occurrence.local_time == local.replace(tzinfo=None, fold=0)
        assert occurrence.fold == local.fold


@SETTINGS
@given(questions())
def test_every_minute_walked_gives_the_same_occurrences(question: Question) -> None:
    agree(question)


@settings(SETTINGS, max_examples=40)
@given(questions(seconds=True))
def test_every_second_walked_gives_the_same_occurrences(question: Question) -> None:
    agree(question)


@pytest.mark.slow
@THOROUGH
@given(questions())
def test_every_minute_walked_agrees_in_thousands_of_examples(question: Question) -> None:
    agree(question)


@pytest.mark.slow
@settings(SETTINGS, max_examples=600)
@given(questions(seconds=True))
def test_every_second_walked_agrees_in_hundreds_of_examples(question: Question) -> None:
    agree(question)


@SETTINGS
@given(questions(), st.data())
def test_a_window_holds_what_its_halves_hold(question: Question, data: st.DataObject) -> None:
    zone = ZONES.load(question.timing.timezone)
    middle = from_epoch(data.draw(st.integers(question.start, question.end)))
    whole = question.window
    halves = [
        found
        for half in (Window(whole.start, middle), Window(middle, whole.end))
        for found in expand(question.timing, zone, half)
    ]
    assert expand(question.timing, zone, whole) == halves


@SETTINGS
@given(questions())
def test_instants_are_ascending_unique_and_those_of_expand(question: Question) -> None:
    zone = ZONES.load(question.timing.timezone)
    found = instants(question.timing, zone, question.window)
    assert found == sorted(set(found))
    assert found == [o.instant for o in expand(question.timing, zone, question.window)]


@SETTINGS
@given(questions(), st.integers(0, 5))
def test_next_after_gives_the_first_of_what_follows(question: Question, limit: int) -> None:
    zone = ZONES.load(question.timing.timezone)
    after = question.window.start
    found = next_after(question.timing, zone, after, limit)
    if limit == 0 or not found:
        assert limit == 0 or not expand(question.timing, zone, question.window)[1:]
        return
    following = Window(after + timedelta(seconds=1), found[-1].logical_time + timedelta(seconds=1))
    assert expand(question.timing, zone, following) == found


@settings(SETTINGS, max_examples=300)
@given(DAY_FIELDS, st.sampled_from(list(DayRule)), st.integers(-25_000, 80_000))
@example(("31W", "*", "*"), DayRule.VIXIE, 20_000)
@example(("L-30,LW", "2", "MON#5"), DayRule.OR, 20_000)
def test_every_day_of_a_year_matches_as_its_date_does(
    days: tuple[str, str, str], rule: DayRule, first: int
) -> None:
    try:
        timing = Timing(parse(f"0 0 {' '.join(days)}"), "UTC", day_rule=rule)
    except CronError:
        assume(condition=False)
    expression = oracle.Expression("0", "0", *days)
    window = Window(from_epoch(first * 86400), from_epoch((first + 400) * 86400))
    wanted = [
        day * 86400
        for day in range(first, first + 400)
        if expression.asks_for(day * 86400, rule.value)
    ]
    assert instants(timing, ZONES.load("UTC"), window) == wanted
