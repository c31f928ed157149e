"""Triggers, calendars and exclusions from the file: what each key means, and its defaults."""

from __future__ import annotations

import sys
import time
from datetime import UTC, date, datetime

import holidays
import pytest
from schedule_files import problems, read, read_one, zones

from cronledger.core.calendars import Calendar, Roll
from cronledger.core.cron import parse
from cronledger.core.every import Elapsed, MonthEnd, Stride
from cronledger.core.expand import next_after
from cronledger.core.instants import format_instant, parse_wall
from cronledger.core.quartz import parse_quartz
from cronledger.core.rrule import Rrule, parse_rrule
from cronledger.core.schedule import DST_PRESETS, Timing
from cronledger.core.triggers import At, Exclusions, Union

BERLIN = "timezone: Europe/Berlin"
NINE = parse_wall("2026-01-05T09:00:00")
RFC = DST_PRESETS["rfc5545"]
HEAD = "version: 1\nschedules:\n"


def day(text: str) -> int:
    """Days since 1970-01-01."""
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def test_elapsed_steps_count_from_the_epoch_or_the_start() -> None:
    assert read_one("every: PT5M").timing == Timing(Elapsed(300))
    found = read_one(f"every: 12h, {BERLIN}, start: 2026-01-05T09:00:00").timing
    assert found == Timing(Elapsed(43_200, NINE - 3600), "Europe/Berlin")


def test_steps_of_the_calendar_keep_the_time_of_day_of_the_start() -> None:
    found = read_one(f"every: P2W, {BERLIN}, start: 2026-01-05T09:00:00").timing
    assert found == Timing(Stride(NINE, days=14), "Europe/Berlin", RFC)
    zoned = read_one(f"every: P2W, {BERLIN}, start: 2026-01-05T08:00:00Z").timing
    assert zoned == found


def test_the_end_of_a_month_is_as_chosen() -> None:
    found = read_one("every: P1Y, start: 2024-02-29, month_end: forward").timing.trigger
    assert found == Stride(parse_wall("2024-02-29T00:00:00"), 0, 12, MonthEnd.FORWARD)
    assert read_one("every: P1M, start: 2026-01-31").timing.trigger == Stride(
        parse_wall("2026-01-31T00:00:00"), months=1
    )


def test_a_rule_has_its_start_and_its_dates() -> None:
    found = read_one(
        f'rrule: "FREQ=WEEKLY;BYDAY=MO", {BERLIN}, start: 2026-01-05T09:00:00, '
        "exdate: [2026-01-12T08:00:00Z], rdate: [2026-01-06T10:00:00]"
    ).timing
    rule = found.trigger
    assert isinstance(rule, Rrule)
    assert rule.parts == parse_rrule("FREQ=WEEKLY;BYDAY=MO", NINE).parts
    assert (rule.start, found.start, found.dst) == (NINE, None, RFC)
    # An instant is what the schedule's clock shows at it.
    assert rule.exdate == (NINE + 7 * 86400,)
    assert rule.rdate == (parse_wall("2026-01-06T10:00:00"),)


def test_a_list_of_times_is_sorted_and_each_counts_once() -> None:
    found = read_one(f"at: [2026-07-04T12:00:00Z, 2026-01-05T09:00:00, 2026-07-04], {BERLIN}")
    assert found.timing.trigger == At(
        (NINE - 3600, parse_wall("2026-07-03T22:00:00"), parse_wall("2026-07-04T12:00:00"))
    )
    twice = read_one("at: [2026-07-04T12:00:00Z, 2026-07-04T14:00:00+02:00]").timing.trigger
    assert twice == At((parse_wall("2026-07-04T12:00:00"),))


def test_a_union_holds_triggers_and_the_start_above_it_counts_for_all() -> None:
    found = read_one(
        'any: [{cron: "0 3 * * SUN"}, {every: P1M}, {every: PT1H, start: 2026-02-01}], '
        "start: 2026-01-05T09:00:00, dst: rfc5545"
    ).timing
    assert found.trigger == Union(
        (
            parse("0 3 * * SUN"),
            Stride(NINE, months=1),
            Elapsed(3600, parse_wall("2026-02-01T00:00:00")),
        )
    )
    assert found.start == datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("settings", "preset"),
    [
        ('any: [{cron: "0 3 * * *"}, {every: PT1H}]', "cron"),
        ("any: [{every: P1D, start: 2026-01-01}, {at: [2026-01-01]}]", "rfc5545"),
        ('any: [{cron: "0 3 * * *"}, {every: P1D, start: 2026-01-01}], dst: literal', "literal"),
        ("every: P1D, start: 2026-01-01, dst: cron", "cron"),
        ("every: PT1H", "cron"),
    ],
)
def test_clock_changes_are_by_default_as_the_trigger_has_them(settings: str, preset: str) -> None:
    assert read_one(settings).timing.dst == DST_PRESETS[preset]


def test_a_dst_given_in_part_is_filled_from_that_of_the_trigger() -> None:
    found = read_one("every: P1D, start: 2026-01-01, dst: {gap: skip}").timing.dst
    assert (found.gap, found.fold, found.wildcard) == ("skip", "first", "same")
    given = read_one("every: P1D, start: 2026-01-01", head="defaults: {dst: cron}").timing.dst
    assert given == DST_PRESETS["cron"]


def test_an_h_is_resolved_from_the_id_of_the_schedule() -> None:
    found = read(f'{HEAD}  a: {{cron: "H H * * *"}}\n  b: {{cron: "H H * * *"}}\n').schedules
    texts = [found[name].timing.trigger.text for name in ("a", "b")]
    assert texts == [parse("H H * * *", seed=name).text for name in ("a", "b")]
    assert texts[0] != texts[1]


def test_quartz_is_read_where_it_is_named() -> None:
    found = read_one('cron: {expr: "0/20 * 8-17 ? * 2-6", dialect: quartz}').timing.trigger
    assert found == parse_quartz("0/20 * 8-17 ? * 2-6")


def test_a_calendar_is_named_or_written_out() -> None:
    bank = "{weekend: [SAT, SUN], exclude: [2026-12-25], include: [2026-12-26]}"
    wanted = Calendar((0, 6), (day("2026-12-25"),), (day("2026-12-26"),))
    named = read_one(
        'cron: "0 2 * * *", calendar: bank, roll: following', head=f"calendars: {{bank: {bank}}}"
    ).timing
    assert (named.calendar, named.roll) == (wanted, Roll.FOLLOWING)
    written = read_one(f'cron: "0 2 * * *", calendar: {bank}').timing
    assert (written.calendar, written.roll) == (wanted, Roll.NONE)


def test_a_calendar_that_nobody_uses_is_checked_all_the_same() -> None:
    text = f"version: 1\ncalendars: {{a b: {{weekend: [S]}}}}\n{HEAD[11:]}  a: {{every: PT1H}}\n"
    assert [line.partition(": ")[0] for line in problems(text)] == ["2:13", "2:29"]


def test_holidays_are_resolved_into_dates_of_fifty_years() -> None:
    found = read_one('cron: "0 2 * * *", calendar: {holidays: {country: DE, subdivision: BY}}')
    assert found.timing.calendar is not None
    dates = found.timing.calendar.exclude
    theirs = holidays.country_holidays("DE", subdiv="BY", years=2026)
    assert {at for at in dates if day("2026-01-01") <= at < day("2027-01-01")} == {
        (each - date(1970, 1, 1)).days for each in theirs
    }
    assert (dates[0], dates[-1]) == (day("2020-01-01"), day("2069-12-26"))


def test_a_country_of_which_fewer_years_are_known_is_read_without_a_warning() -> None:
    assert read_one('cron: "0 2 * * *", calendar: {holidays: {country: IN}}').timing.calendar


def test_without_the_extra_holidays_are_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "holidays", None)
    text = f'{HEAD}  a: {{cron: "0 2 * * *", calendar: {{holidays: {{country: DE}}}}}}\n'
    assert problems(text) == [
        "3:47: a: holidays: the holidays of countries come with an extra; "
        "run pip install 'cronledger[holidays]', or write 'exclude'"
    ]


def test_exclusions_of_all_kinds_are_put_together() -> None:
    found = read_one(
        'cron: "* * * * *", except: [{dates: [2026-12-27, 2026-01-01]}, '
        "{between: [2026-03-01, 2026-03-03]}, {between: [2026-02-01, 2026-03-02]}, "
        '{cron: "0 2 * * *"}, {rrule: FREQ=DAILY, start: 2026-01-05T09:00:00}]'
    ).timing.exclusions
    assert found == Exclusions(
        (day("2026-01-01"), day("2026-12-27")),
        ((parse_wall("2026-02-01T00:00:00"), parse_wall("2026-03-03T00:00:00")),),
        (parse("0 2 * * *"), parse_rrule("FREQ=DAILY", NINE)),
    )


@pytest.mark.parametrize(
    "settings",
    [
        'rrule: "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", start: 1970-01-02',
        'rrule: "FREQ=DAILY;INTERVAL=10000;BYDAY=MO;BYMONTH=2;BYMONTHDAY=29", start: 1970-01-02',
        'rrule: "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=366", start: 1970-01-02',
        'rrule: "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6", start: 1970-01-02',
        'rrule: "FREQ=DAILY;COUNT=100000;BYMONTH=2;BYMONTHDAY=30", start: 1970-01-02',
        'every: PT1S, except: [{cron: {expr: "* * * * * *", fields: 6s}}]',
        'cron: "* * * * *", calendar: {weekend: [SAT]}, except: [{cron: "* * * * *"}]',
        "every: PT1S, end: 2198-12-30, except: [{between: [1970-01-01, 2198-12-31]}]",
    ],
)
def test_a_trigger_that_never_fires_is_refused_soon(settings: str) -> None:
    began = time.perf_counter()
    (line,) = problems(f"{HEAD}  a: {{{settings}}}\n")
    assert "so it never fires; " in line
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ("every: PT1S, start: 1970-01-02", "2190-01-01T00:00:00Z"),
        ("every: P1D, start: 1970-01-02", "2190-01-01T00:00:00Z"),
        ('rrule: "FREQ=DAILY", start: 1970-01-02', "2190-01-01T00:00:00Z"),
        ('rrule: "FREQ=WEEKLY;BYDAY=MO;INTERVAL=3", start: 1970-01-02', "2190-01-11T00:00:00Z"),
        ('rrule: "FREQ=DAILY;COUNT=100000", start: 1970-01-02', "2190-01-01T00:00:00Z"),
    ],
)
def test_what_is_owed_far_from_the_start_is_found_soon(settings: str, wanted: str) -> None:
    timing = read_one(settings).timing
    began = time.perf_counter()
    (found,) = next_after(
        timing, zones().load("UTC"), datetime(2189, 12, 31, 23, 59, 59, tzinfo=UTC), 1
    )
    assert format_instant(found.logical_time) == wanted
    assert time.perf_counter() - began < 3
