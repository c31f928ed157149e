"""What clock changes do to times of day: each fate, strange zones, agreement with expand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from cronledger.adapters.zones import PinnedZones
from cronledger.core.clock_changes import Effect, Fate, effects, tell
from cronledger.core.cron import Cron, parse
from cronledger.core.expand import expand, instants
from cronledger.core.instants import Window, from_epoch, to_epoch
from cronledger.core.schedule import DST_PRESETS, Timing
from timings import SETTINGS, Question, questions

ZONES = PinnedZones()
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def found(
    text: str, zone: str = "Europe/Berlin", dst: str = "cron", start: datetime = NOW
) -> list[Effect]:
    timing = Timing(parse(text), zone, DST_PRESETS[dst])
    return list(effects(timing, ZONES.load(zone), Window(start, start + timedelta(days=365))))


def told(text: str, zone: str = "Europe/Berlin", dst: str = "cron") -> list[str]:
    return [tell(effect) for effect in found(text, zone, dst)]


GAP = "02:30 on 2027-03-28 does not exist (the clock jumps from 02:00 to 03:00), so it "
FOLD = "02:30 on 2027-10-31 comes twice (the clock goes back from 03:00 to 02:00), so it "


@pytest.mark.parametrize(
    ("dst", "gap", "fold"),
    [
        ("cron", "runs at 03:00", "runs the first time only"),
        ("rfc5545", "runs at 03:30", "runs the first time only"),
        ("literal", "is left out", "runs both times"),
        ("dagster", "runs at 03:00", "runs the second time only"),
    ],
)
def test_a_time_of_day_meets_its_fate_under_each_policy(dst: str, gap: str, fold: str) -> None:
    assert told("30 2 * * *", dst=dst) == [GAP + gap, FOLD + fold]


def test_unambiguous_times_of_day_are_not_affected() -> None:
    assert found("30 4 * * *") == []
    assert found("30 2 * * *", "Asia/Tokyo") == []


@pytest.mark.parametrize("text", ["*/5 * * * *", "0 * * * *", "* * * * 0", "*/7 * * * *"])
def test_what_runs_around_the_clock_keeps_its_pace(text: str) -> None:
    assert found(text) == []


def test_hours_by_step_lose_and_double_a_run() -> None:
    assert [effect.fate for effect in found("0 */2 * * *")] == [Fate.SKIPPED, Fate.TWICE]


def test_an_hourly_schedule_loses_its_pace_where_half_an_hour_is_skipped() -> None:
    kinds = [effect.fate for effect in found("0 * * * *", "Australia/Lord_Howe")]
    assert Fate.SKIPPED in kinds


def test_several_times_of_day_become_one_run() -> None:
    first = told("0,30 2 * * *")[0]
    assert first.startswith("02:00 and 02:30 on 2027-03-28 do not exist")
    assert first.endswith("so they run once, at 03:00")


def test_a_time_of_day_that_lands_on_another_run_says_so() -> None:
    first = told("30 2,3 * * *", dst="rfc5545")[0]
    assert first.endswith("so it runs at 03:30, in one with other runs")


def test_many_times_of_day_are_counted() -> None:
    assert told("*/5 2 * * *")[0].startswith("12 times of day from 02:00 to 02:55 on 2027-03-28")


def test_a_day_that_a_zone_skipped_is_told_with_its_length() -> None:
    """Apia crossed the date line: 2011-12-30 was no day there."""
    start = datetime(2011, 12, 20, tzinfo=UTC)
    (effect, *_) = found("0 9 * * *", "Pacific/Apia", start=start)
    assert effect.length == 86400
    assert tell(effect) == (
        "09:00 on 2011-12-30 does not exist (the clock jumps from 00:00 to 00:00 on 2011-12-31, "
        "24 hours on), so it runs at 00:00"
    )


def test_bounds_that_leave_a_clock_change_out_leave_its_effect_out() -> None:
    timing = Timing(parse("30 2 * * *"), "Europe/Berlin", end=datetime(2027, 3, 1, tzinfo=UTC))
    window = Window(NOW, NOW + timedelta(days=365))
    assert list(effects(timing, ZONES.load("Europe/Berlin"), window)) == []


@given(questions())
@SETTINGS
def test_every_run_told_is_owed_and_every_moved_one_is_told(question: Question) -> None:
    """The runs of the effects are owed; what expand calls moved stands in an effect."""
    timing = question.timing
    zone = ZONES.load(timing.timezone)
    seen = list(effects(timing, zone, question.window))
    for effect in seen:
        reach = Window(from_epoch(effect.change - 90_000), from_epoch(effect.change + 90_000))
        assert set(effect.runs) <= set(instants(timing, zone, reach))
    told_runs = {run for effect in seen for run in effect.runs}
    start, end = question.window.epochs()
    changes = [at for at in zone.transitions if start <= at < end]
    assert isinstance(timing.trigger, Cron)
    # A schedule of all hours may be moved and still keep its pace.
    if len(timing.trigger.hours) < 24:
        for run in expand(timing, zone, question.window):
            if run.moved and any(at <= run.instant for at in changes):
                assert run.instant in told_runs


def test_effects_ascend_and_lie_in_the_window() -> None:
    changes = [effect.change for effect in found("30 2 * * *")]
    assert changes == sorted(changes)
    assert all(at >= to_epoch(NOW) for at in changes)
