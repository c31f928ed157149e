"""Each lint: what makes it speak, what leaves it silent, and that it says what to write."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import Cron, Layout, parse
from cronledger.core.findings import CODES, CRON_PATH, Finding, Severity
from cronledger.core.instants import from_epoch
from cronledger.core.lint import HERD, lint
from cronledger.core.schedule import (
    DST_PRESETS,
    Catchup,
    CatchupPolicy,
    DayRule,
    JobSpec,
    Schedule,
    Timing,
)
from timings import SETTINGS, Question, questions

ZONES = PinnedZones()
NOW = datetime(2026, 12, 1, tzinfo=UTC)
SILENT = Catchup(CatchupPolicy.NONE)


def schedule(text: str, zone: str = "Europe/Berlin", **policies: Any) -> Schedule:
    timing = Timing(parse(text), zone)
    return Schedule("job", timing, JobSpec("job"), **{"catchup": SILENT, **policies})


def findings(one: Schedule, now: datetime = NOW) -> list[Finding]:
    return lint({one.id: one}, ZONES.load, now)


def codes(text: str, zone: str = "Europe/Berlin", **policies: Any) -> set[str]:
    return {finding.code for finding in findings(schedule(text, zone, **policies))}


def only(code: str, one: Schedule, now: datetime = NOW) -> Finding:
    (finding,) = [finding for finding in findings(one, now) if finding.code == code]
    return finding


# Code, a schedule that has it, one that has not.
PAIRS = [
    ("gap", "30 2 * * *", "30 4 * * *"),
    ("gap", "0 */2 * * *", "0 * * * *"),
    ("fold", "30 2 * * *", "30 3 * * *"),
    ("fold", "*/5 2 * * *", "*/5 * * * *"),
    ("both-day-fields", "0 9 1-7 * 6", "0 9 1-7 * *"),
    ("both-day-fields", "0 9 */10 * 1", "0 9 * * 1"),
    ("uneven-step", "*/7 * * * *", "*/6 * * * *"),
    ("uneven-step", "0-59/25 * * * *", "10-50/20 * * * *"),
    ("uneven-step", "5/40 * * * *", "5/20 * * * *"),
    ("uneven-step", "*/90 * * * *", "*/1 * * * *"),
    ("uneven-step", "0 */5 * * *", "0 8-17/5 * * *"),
    ("uneven-step", "0 9 */2 * *", "0 9 1,3 * *"),
    ("uneven-step", "0 9 1 */5 *", "0 9 1 */3 *"),
    ("uneven-step", "0 9 * * */2", "0 9 * * 1,3,5"),
    ("full-set", "0 0-23 * * *", "0 0-22 * * *"),
    ("full-set", "0-59 4 * * *", "0-58 4 * * *"),
    ("full-set", "0 9 1-31 * *", "0 9 1-30 * *"),
    ("full-set", "0 9 * 1-12 *", "0 9 * 1-11 *"),
    ("full-set", "0 9 * * 1-7", "0 9 * * 1-5"),
    ("hours-step", "15 */2 * * *", "15 * * * *"),
    ("hours-step", "15 0-23/3 * * *", "15 8-17/3 * * *"),
    ("short-months", "0 9 31 * *", "0 9 L * *"),
    ("short-months", "0 9 29-31 * *", "0 9 25-31 * *"),
    ("short-months", "0 9 15,30 * *", "0 9 15,28 * *"),
    ("short-months", "0 9 31 1-4 *", "0 9 31 1,3,5 *"),
]


@pytest.mark.parametrize(("code", "speaks", "silent"), PAIRS)
def test_a_lint_of_the_expression_speaks_and_is_silent(code: str, speaks: str, silent: str) -> None:
    assert code in codes(speaks)
    assert code not in codes(silent)


def test_every_code_of_the_core_is_among_the_tests() -> None:
    named = {code for code, _, _ in PAIRS}
    named |= {"catchup-max", "catchup-window", "fixed-offset-zone", "grace", "herd", "objective"}
    of_others = {"second-opinion", "moved-keys", "ending-schedules"}  # they ask croniter, a ledger
    assert named == set(CODES) - of_others


@pytest.mark.parametrize("text", [speaks for _, speaks, _ in PAIRS])
def test_every_finding_says_what_to_write(text: str) -> None:
    for finding in findings(schedule(text, objective=timedelta(seconds=1), catchup=Catchup())):
        what, _, instead = finding.message.partition("; ")
        assert what
        assert instead.startswith(("write ", "move "))


def test_a_lint_of_the_text_points_at_the_item() -> None:
    assert only("uneven-step", schedule("0,*/7  4 * * *")).offset == 2
    assert only("hours-step", schedule("0  */2 * * *")).offset == 3
    assert only("short-months", schedule("0 9 1,31 * *")).offset == 6


@pytest.mark.parametrize("text", ["@daily", "@hourly", "@yearly"])
def test_a_macro_is_never_a_slip(text: str) -> None:
    assert codes(text, "UTC") == set()


def test_seconds_and_years_are_looked_at_in_their_own_fields() -> None:
    timing = Timing(parse("*/7 0 9 * * * 2027/2", Layout.SEVEN))
    one = Schedule("job", timing, JobSpec("job"), catchup=SILENT)
    assert only("uneven-step", one).offset == 0


# Clock changes.


def test_the_dates_of_clock_changes_and_what_happens_there_are_named() -> None:
    gap = only("gap", schedule("30 2 * * *"))
    assert gap.severity is Severity.HINT
    assert "02:30 on 2027-03-28 does not exist" in gap.message
    assert "so it runs at 03:00, and alike on 2028-03-26" in gap.message


@pytest.mark.parametrize(("preset", "code"), [("literal", "gap"), ("croniter", "fold")])
def test_a_run_that_is_lost_or_doubled_is_a_warning(preset: str, code: str) -> None:
    one = schedule("30 2 * * *")
    one = replace(one, timing=replace(one.timing, dst=DST_PRESETS[preset]))
    assert only(code, one).severity is Severity.WARNING


def test_changes_beyond_two_years_are_not_mentioned() -> None:
    assert "2029" not in only("gap", schedule("30 2 * * *")).message


def test_a_zone_without_clock_changes_has_neither_gap_nor_fold() -> None:
    assert codes("30 2 * * *", "UTC") == codes("15 */2 * * *", "Asia/Tokyo") == set()


def test_a_gap_of_more_than_three_hours_is_named_as_a_warning() -> None:
    one = schedule("0 9 * * *", "Pacific/Apia")
    gap = only("gap", one, datetime(2011, 12, 1, tzinfo=UTC))
    assert gap.severity is Severity.WARNING
    assert "24 hours on" in gap.message


def test_half_hour_changes_are_seen() -> None:
    assert {"gap", "fold"} <= codes("15 2 * * *", "Australia/Lord_Howe") | codes(
        "45 1 * * *", "Australia/Lord_Howe"
    )


# Day fields.


def test_both_day_fields_are_told_as_vixie_reads_them() -> None:
    either = only("both-day-fields", schedule("0 9 1-7 * 6")).message
    assert "it runs on the 1st to 7th of the month and also on Saturdays" in either
    both = only("both-day-fields", schedule("0 9 */10 * 1")).message
    assert "only on Mondays that are also the 1st, 11th, 21st and 31st of the month" in both


@pytest.mark.parametrize("rule", [DayRule.OR, DayRule.AND])
def test_a_day_rule_that_is_written_down_is_meant(rule: DayRule) -> None:
    one = schedule("0 9 1-7 * 6")
    one = replace(one, timing=replace(one.timing, day_rule=rule))
    assert not [f for f in findings(one) if f.code == "both-day-fields"]


def test_a_full_set_is_a_warning_only_where_a_star_would_mean_something_else() -> None:
    assert only("full-set", schedule("0 0-23 * * *")).severity is Severity.WARNING
    assert only("full-set", schedule("0 0-23 * * *", "UTC")).severity is Severity.HINT
    assert only("full-set", schedule("0 9 1 * 0-6")).severity is Severity.WARNING
    assert only("full-set", schedule("0 9 * 1-12 *")).severity is Severity.HINT


def test_the_only_value_of_a_step_beyond_its_field_is_told() -> None:
    assert only("uneven-step", schedule("*/90 * * * *")).message.endswith(
        "write 0, which is all it names"
    )


# Zones.


@pytest.mark.parametrize("zone", ["EST", "MST", "HST", "Etc/GMT+5"])
def test_a_zone_of_one_offset_is_pointed_out(zone: str) -> None:
    finding = only("fixed-offset-zone", schedule("0 9 * * *", zone))
    assert finding.path == ("timezone",)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "Etc/GMT", "Etc/UTC"])
def test_a_zone_that_is_a_place_or_utc_is_not(zone: str) -> None:
    assert "fixed-offset-zone" not in codes("0 9 * * *", zone)


# Policies.


def weekly(window: timedelta, policy: CatchupPolicy = CatchupPolicy.LATEST) -> Schedule:
    return schedule("0 9 * * 1", "UTC", catchup=Catchup(policy, window))


def test_a_catch_up_window_shorter_than_the_interval_is_pointed_out() -> None:
    finding = only("catchup-window", weekly(timedelta(days=2)))
    assert "looks back P2D, but P7D lie between two runs" in finding.message
    assert "write catchup: {window: P7D}" in finding.message
    assert finding.path == ("catchup", "window")


@pytest.mark.parametrize(
    "one",
    [
        weekly(timedelta(days=7)),
        weekly(timedelta(days=2), CatchupPolicy.NONE),
        # The night of the fold lasts 25 hours, and a day's window is still enough.
        schedule("0 9 * * *", catchup=Catchup()),
        schedule("0 9 * * 1-5", catchup=Catchup()),
        schedule("* * * * *", catchup=Catchup(window=timedelta(days=400))),
    ],
)
def test_a_catch_up_window_that_reaches_back_a_run_is_fine(one: Schedule) -> None:
    assert "catchup-window" not in {finding.code for finding in findings(one)}


def test_a_window_longer_than_a_file_may_give_is_not_asked_for() -> None:
    leap = schedule("0 9 29 2 *", "UTC", catchup=Catchup())
    assert "window: P400D" in only("catchup-window", leap).message


def all_of(text: str, window: timedelta, maximum: int) -> Schedule:
    return schedule(text, "UTC", catchup=Catchup(CatchupPolicy.ALL, window, maximum))


def test_a_max_lower_than_the_window_holds_is_a_warning() -> None:
    finding = only("catchup-max", all_of("0 9 * * *", timedelta(days=7), 6))
    assert finding.severity is Severity.WARNING
    assert "6 at most, while P7D hold more" in finding.message


@pytest.mark.parametrize(
    "one",
    [
        all_of("0 9 * * *", timedelta(days=7), 7),
        schedule("* * * * *", "UTC", catchup=Catchup(CatchupPolicy.LATEST, maximum=1)),
    ],
)
def test_a_max_that_holds_the_window_or_does_not_count_is_fine(one: Schedule) -> None:
    assert "catchup-max" not in {finding.code for finding in findings(one)}


def test_a_grace_shorter_than_the_deadline_is_a_warning() -> None:
    hasty = schedule("0 9 * * *", grace=timedelta(seconds=10))
    assert only("grace", hasty).severity is Severity.WARNING
    assert "grace" not in codes("0 9 * * *", grace=timedelta(seconds=30))


def test_an_objective_that_is_over_before_the_grace_is_a_warning() -> None:
    short = schedule("0 9 * * *", objective=timedelta(minutes=1))
    assert only("objective", short).severity is Severity.WARNING
    assert "objective" not in codes("0 9 * * *", objective=timedelta(minutes=5))


# The file as a whole.


def herd(size: int, minute: str = "0") -> list[Finding]:
    names = [f"job-{number}" for number in range(size)]
    one = schedule(f"{minute} 9 * * *", "UTC")
    return lint({name: replace(one, id=name) for name in names}, ZONES.load, NOW)


def test_many_schedules_at_one_minute_are_one_finding() -> None:
    (finding,) = herd(HERD)
    assert finding.code == "herd"
    assert f"{HERD} schedules begin in the same minute, at 2026-12-01T09:00:00Z" in finding.message
    assert "job-0, job-1, job-2 and others" in finding.message


def test_a_few_schedules_at_one_minute_or_many_at_others_are_no_herd() -> None:
    assert herd(HERD - 1) == []
    apart = {f"job-{m}": replace(schedule(f"{m} 9 * * *", "UTC"), id=f"job-{m}") for m in range(60)}
    assert lint(apart, ZONES.load, NOW) == []


def test_findings_carry_the_schedule_they_are_about_in_the_order_of_the_file() -> None:
    both = {name: replace(schedule("*/7 * * * *"), id=name) for name in ("b", "a")}
    assert [finding.schedule for finding in lint(both, ZONES.load, NOW)] == ["b", "a"]


@given(questions())
@settings(SETTINGS, max_examples=150)
def test_no_expression_breaks_a_lint_and_every_finding_is_inside_its_text(
    question: Question,
) -> None:
    now = from_epoch(min(max(question.start, 0), 4_000_000_000))
    one = Schedule("job", question.timing, JobSpec("job"))
    for finding in findings(one, now):
        assert finding.message.count("; ") == 1
        assert finding.message == finding.message.strip()
        if finding.path == CRON_PATH:
            assert isinstance(one.timing.trigger, Cron)
            assert finding.offset < len(one.timing.trigger.text)
