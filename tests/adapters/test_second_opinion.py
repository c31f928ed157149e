"""Where croniter runs a schedule at another time: found, dated, cached and bounded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from cronledger.adapters.second_opinion import Opinion, SecondOpinion
from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import Layout, parse
from cronledger.core.expand import instants
from cronledger.core.findings import Severity
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import DST_PRESETS, JobSpec, Schedule, Timing

ZONES = PinnedZones()
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def schedule(text: str, zone: str, dst: str = "cron", layout: Layout = Layout.FIVE) -> Schedule:
    timing = Timing(parse(text, layout), zone, DST_PRESETS[dst])
    return Schedule(f"{text} {zone}", timing, JobSpec("job"))


def ask(*schedules: Schedule, steps: int = 30_000) -> Opinion:
    opinion = SecondOpinion(ZONES.data, steps)
    return opinion.of({one.id: one for one in schedules}, ZONES.load, NOW)


def message(one: Schedule) -> str:
    (finding,) = ask(one).findings
    assert finding.severity is Severity.HINT
    assert finding.code == "second-opinion"
    return finding.message


def test_a_repeated_time_runs_twice_there_and_the_first_date_is_named() -> None:
    said = message(schedule("30 2 * * *", "Europe/Berlin"))
    assert "would also run it at 2027-10-31T01:30:00Z (2 more in the days compared)" in said


def test_days_that_we_read_as_both_are_either_there() -> None:
    said = message(schedule("0 0 */10 * 1", "UTC"))
    assert "would also run it at 2026-12-07T00:00:00Z" in said


def test_under_a_policy_of_its_own_the_difference_is_ours_to_name() -> None:
    said = message(schedule("30 2 * * *", "Europe/Berlin", "literal"))
    assert "would also run it at 2027-03-28T01:00:00Z" in said


@pytest.mark.parametrize(
    "one",
    [
        schedule("30 4 * * *", "Europe/Berlin"),
        schedule("*/5 * * * *", "America/New_York"),
        schedule("0 9 * * 1-5", "Asia/Kolkata"),
        schedule("30 2 * * *", "Europe/Berlin", "croniter"),
        schedule("*/30 * * * * *", "UTC", layout=Layout.SECONDS),
    ],
)
def test_where_both_agree_nothing_is_said(one: Schedule) -> None:
    assert ask(one) == Opinion((), ())


@pytest.mark.parametrize("text", ["0 9 L-2 * *", "0 9 LW * *"])
def test_what_croniter_cannot_read_is_left_alone(text: str) -> None:
    assert ask(schedule(text, "Europe/Berlin")) == Opinion((), ())


def test_a_layout_that_croniter_reads_otherwise_is_not_asked_about() -> None:
    assert ask(schedule("0 9 * * * 2030", "UTC", layout=Layout.YEAR)) == Opinion((), ())


def test_equal_expressions_are_asked_once() -> None:
    one = schedule("30 2 * * *", "Europe/Berlin")
    # One of them costs more steps than there are, and yet the other has its answer.
    opinion = ask(one, replace(one, id="twin"), steps=1)
    assert [finding.schedule for finding in opinion.findings] == [one.id, "twin"]


def test_what_the_steps_do_not_reach_is_named_and_the_rare_come_first() -> None:
    often, daily = schedule("*/2 * * * *", "Europe/Berlin"), schedule("30 2 * * *", "Europe/Berlin")
    opinion = ask(often, daily, steps=10)
    assert [finding.schedule for finding in opinion.findings] == [daily.id]
    assert opinion.unasked == (often.id,)


def test_a_busy_expression_is_compared_through_the_whole_repeated_hour() -> None:
    said = message(schedule("0-59 0-23 * * *", "Europe/Berlin", "dagster"))
    assert "2027-03-28" in said or "2027-10-31" in said


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Asia/Kathmandu"])
@pytest.mark.parametrize(
    "text",
    ["*/7 * * * *", "15 3 * * 1-5", "0 9 1,15 * *", "0 9 * * 5#2", "0 9 L * *", "5/20 9 * 2 *"],
)
def test_plain_expressions_run_at_the_times_of_croniter(text: str, zone: str) -> None:
    """A differential test where no clock changes: two readers, one answer."""
    window = Window(NOW, NOW + timedelta(days=120))
    start, end = window.epochs()
    walk = croniter(text, datetime.fromtimestamp(start - 1, ZoneInfo(zone)))
    theirs = []
    while (at := int(walk.get_next(float))) < end:
        theirs.append(at)
    ours = instants(Timing(parse(text), zone), ZONES.load(zone), window)
    assert [from_epoch(at) for at in ours] == [from_epoch(at) for at in theirs]
