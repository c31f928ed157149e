"""Every trigger through expansion: clock changes, calendars, exclusions, unions, its storage."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import pytest
from dateutil import rrule as dateutil
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
from cronledger.core.calendars import Calendar, Roll, is_business_day
from cronledger.core.cron import Layout, parse
from cronledger.core.every import Elapsed, MonthEnd, Stride
from cronledger.core.expand import expand, instants, next_after
from cronledger.core.instants import Window, format_instant, from_epoch, parse_instant, parse_wall
from cronledger.core.rrule import parse_rrule
from cronledger.core.schedule import DST_PRESETS, Dst, Fold, Gap, Timing, Wildcard
from cronledger.core.spec import from_spec, timing_hash, to_spec
from cronledger.core.triggers import At, Exclusions, Single, Union
from timings import POLICIES, SETTINGS, ZONES, places

DAY = 86400


@dataclass(frozen=True)
class Dated:
    """A trigger on the wall clock near a clock change, and its wall times by another way."""

    trigger: Stride
    timing: Timing
    policies: oracle.Policies
    walls: list[int]
    window: Window


@st.composite
def dated(draw: st.DrawFn) -> Dated:
    """One that asks daily, every few days or weeks, at a time near one that the zone changes."""
    name, change = draw(places(earliest=0))
    zone = ZONES.load(name)
    side = draw(st.sampled_from([-1, 0]))
    wall = change + zone.offset_at(change + side) + draw(st.integers(-120, 120)) * 60
    step = draw(st.integers(1, 4))
    anchor = wall - step * DAY * draw(st.integers(0, 6))
    policies = draw(POLICIES)
    dst = Dst(Gap(policies.gap), Fold(policies.fold), Wildcard(policies.wildcard))
    trigger = Stride(anchor, days=step)
    start = change + draw(st.integers(-5 * DAY, 9_000))
    window = Window(from_epoch(start), from_epoch(start + draw(st.integers(0, 9 * DAY))))
    walls = [anchor + step * DAY * k for k in range(40)]
    return Dated(trigger, Timing(trigger, name, dst), policies, walls, window)


@SETTINGS
@given(dated(), st.booleans())
def test_a_wall_time_lands_where_zoneinfo_says(asked: Dated, as_rule: bool) -> None:
    timing = asked.timing
    if as_rule:
        rule = parse_rrule(f"FREQ=DAILY;INTERVAL={asked.trigger.days}", asked.trigger.start)
        timing = Timing(rule, timing.timezone, timing.dst)
    landed = oracle.settle_walls(asked.walls, asked.policies, oracle.pinned(timing.timezone))
    first, last = asked.window.epochs()
    wanted = [at for at in landed if first <= at < last]
    assert instants(timing, ZONES.load(timing.timezone), asked.window) == wanted


CRONS = st.sampled_from(
    ["30 2 * * *", "*/15 * * * *", "0 0-3 * * *", "0 9 * * MON", "0 18 L * *", "45 1 * * 0,6"]
)
RULES = st.sampled_from(
    [
        "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30",
        "FREQ=WEEKLY;BYDAY=SA,SU",
        "FREQ=MONTHLY;BYDAY=-1SU",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU",
        "FREQ=DAILY;COUNT=40",
    ]
)
DATES = st.lists(st.integers(-40, 40), max_size=12)


@st.composite
def single_triggers(draw: st.DrawFn, change: int) -> Single:
    anchor = change + draw(st.integers(-90 * DAY, 2 * DAY)) // 60 * 60
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return parse(draw(CRONS))
    if kind == 1:
        return Elapsed(draw(st.sampled_from([900, 3600, 5400, 86400, 700_000])), anchor)
    if kind == 2:
        end = draw(st.sampled_from(MonthEnd))
        return Stride(anchor, 0, draw(st.integers(1, 3)), end)
    if kind == 3:
        rule = parse_rrule(draw(RULES), anchor)
        days = st.sets(st.integers(0, 60), max_size=3)
        without, added = (tuple(anchor + DAY * n for n in sorted(draw(days))) for _ in "12")
        return replace(rule, exdate=without, rdate=added)
    return At(tuple(sorted({change + at for at in draw(st.lists(st.integers(-DAY, DAY)))})))


@st.composite
def timings(draw: st.DrawFn) -> tuple[Timing, int]:
    """A timing of any trigger with calendar and exclusions, and an instant its zone changes at."""
    name, change = draw(places(earliest=10 * 365 * DAY))
    assume(change < 200 * 365 * DAY)
    single = single_triggers(change)
    trigger = draw(single | st.lists(single, min_size=1, max_size=3).map(tuple).map(Union))
    policies = draw(POLICIES)
    today = change // DAY
    weekend = tuple(sorted(draw(st.sets(st.integers(0, 6), max_size=3))))
    exclude = tuple(sorted({today + n for n in draw(DATES)}))
    calendar = draw(st.sampled_from([None, Calendar(weekend, exclude), Calendar(weekend)]))
    steady = isinstance(trigger, Elapsed | At | Union)
    roll = Roll.NONE if calendar is None or steady else draw(st.sampled_from(Roll))
    span = (change + draw(st.integers(-DAY, DAY)), change + DAY + 7)
    exclusions = Exclusions(
        tuple(sorted({today + n for n in draw(DATES)})) if draw(st.booleans()) else (),
        (span,) if draw(st.booleans()) else (),
        (parse(draw(CRONS)), parse_rrule(draw(RULES), change // 60 * 60))[
            : draw(st.integers(0, 2))
        ],
    )
    return (
        Timing(
            trigger,
            name,
            Dst(Gap(policies.gap), Fold(policies.fold), Wildcard(policies.wildcard)),
            calendar=calendar,
            roll=roll,
            exclusions=exclusions,
        ),
        change,
    )


@SETTINGS
@given(timings(), st.data())
def test_a_window_holds_what_its_halves_hold(
    asked: tuple[Timing, int], data: st.DataObject
) -> None:
    timing, change = asked
    zone = ZONES.load(timing.timezone)
    start = change - data.draw(st.integers(0, 10 * DAY))
    end = change + data.draw(st.integers(0, 10 * DAY))
    middle = data.draw(st.integers(start, end))
    whole = expand(timing, zone, Window(from_epoch(start), from_epoch(end)))
    halves = [
        *expand(timing, zone, Window(from_epoch(start), from_epoch(middle))),
        *expand(timing, zone, Window(from_epoch(middle), from_epoch(end))),
    ]
    assert whole == halves
    found = [occurrence.instant for occurrence in whole]
    assert found == sorted(set(found))
    assert instants(timing, zone, Window(from_epoch(start), from_epoch(end))) == found
    following = next_after(timing, zone, from_epoch(start - 1), len(found) or 1)
    assert [o for o in following if o.instant < end] == whole


@SETTINGS
@given(timings())
def test_what_is_stored_reads_back_and_owes_the_same(asked: tuple[Timing, int]) -> None:
    timing, _ = asked
    stored = json.loads(json.dumps(to_spec(timing)))
    assert from_spec(stored) == timing
    assert timing_hash(from_spec(stored)) == timing_hash(timing)


@SETTINGS
@given(timings())
def test_nothing_is_owed_that_an_exclusion_or_the_calendar_names(
    asked: tuple[Timing, int],
) -> None:
    timing, change = asked
    zone = ZONES.load(timing.timezone)
    window = Window(from_epoch(change - 20 * DAY), from_epoch(change + 20 * DAY))
    for occurrence in expand(timing, zone, window):
        assert not any(a <= occurrence.instant < b for a, b in timing.exclusions.spans)
        if occurrence.moved:
            # The day that counts is that of a wall time which was never shown.
            continue
        day = (occurrence.instant + occurrence.offset) // DAY
        if timing.dst.gap is not Gap.NEXT and occurrence.collapsed == 1:
            assert day not in timing.exclusions.dates
            assert timing.calendar is None or is_business_day(timing.calendar, day)


def owed(timing: Timing, start: str, end: str) -> list[str]:
    window = Window(parse_instant(start), parse_instant(end))
    return [
        format_instant(from_epoch(at))
        for at in instants(timing, ZONES.load(timing.timezone), window)
    ]


YEAR = ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")
BANK = Calendar(
    (0, 6),
    tuple((date.fromisoformat(d) - date(1970, 1, 1)).days for d in ("2026-12-25", "2026-12-31")),
)


@pytest.mark.parametrize(
    ("roll", "wanted"),
    [
        (Roll.NONE, ["2026-12-30"]),
        (Roll.PRECEDING, ["2026-12-24", "2026-12-30"]),
        (Roll.FOLLOWING, ["2026-12-28", "2026-12-30"]),
    ],
)
def test_a_time_is_left_out_or_rolled_to_a_business_day(roll: Roll, wanted: list[str]) -> None:
    timing = Timing(parse("0 9 25,26,30 12 *"), calendar=BANK, roll=roll)
    assert [time[:10] for time in owed(timing, *YEAR)] == wanted


def test_a_day_that_is_included_is_a_business_day_in_any_case() -> None:
    saturday = (date(2026, 12, 26) - date(1970, 1, 1)).days
    calendar = Calendar((0, 6), BANK.exclude, (saturday, saturday - 1))
    timing = Timing(parse("0 9 25,26,27 12 *"), calendar=calendar)
    assert [time[:10] for time in owed(timing, *YEAR)] == ["2026-12-25", "2026-12-26"]


def test_a_roll_never_goes_before_the_start_of_a_rule() -> None:
    rule = parse_rrule("FREQ=MONTHLY;BYMONTHDAY=-1", parse_wall("2026-01-31T18:00:00"))
    timing = Timing(rule, calendar=Calendar((0, 6)), roll=Roll.PRECEDING)
    assert owed(timing, *YEAR)[:2] == ["2026-02-27T18:00:00Z", "2026-03-31T18:00:00Z"]


def test_an_exclusion_names_the_time_that_the_trigger_asks_for() -> None:
    # On the day of the gap both are moved onto 03:00, where only one of them is left out.
    timing = Timing(
        parse("0,30 2,3 * * *"),
        "Europe/Berlin",
        exclusions=Exclusions(rules=(parse("30 2 * * *"), parse("0 2 * * *"))),
    )
    found = expand(
        timing,
        ZONES.load("Europe/Berlin"),
        Window(datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 29, 3, tzinfo=UTC)),
    )
    assert [(str(o.local_time.time()), o.collapsed) for o in found] == [
        ("03:00:00", 1),
        ("03:30:00", 1),
    ]


def test_a_count_is_consumed_by_a_time_that_the_gap_swallows() -> None:
    rule = parse_rrule("FREQ=DAILY;COUNT=3", parse_wall("2007-03-10T02:30:00"))
    timing = Timing(rule, "America/New_York", DST_PRESETS["literal"])
    assert owed(timing, "2007-03-01T00:00:00Z", "2007-04-01T00:00:00Z") == [
        "2007-03-10T07:30:00Z",
        "2007-03-12T06:30:00Z",
    ]


def test_a_wall_time_that_two_triggers_name_is_moved_once() -> None:
    rule = parse_rrule("FREQ=DAILY", parse_wall("2026-03-01T02:30:00"))
    union = Union((parse("30 2 * * *"), rule, parse("*/30 * * * *")))
    found = expand(
        Timing(union, "Europe/Berlin"),
        ZONES.load("Europe/Berlin"),
        Window(datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 3, 29, 2, tzinfo=UTC)),
    )
    assert [(o.instant % 3600, o.collapsed, o.moved) for o in found] == [
        (0, 2, False),
        (1800, 1, False),
    ]


def test_the_next_occurrence_is_found_across_an_empty_century() -> None:
    zone = ZONES.load("UTC")
    after = datetime(2026, 1, 1, tzinfo=UTC)
    late = Elapsed(1, parse_wall("2190-01-01T00:00:00"))
    once = At((parse_wall("2100-01-01T00:00:00"),))
    leap = Stride(parse_wall("2028-02-29T00:00:00"), months=12)
    for trigger, wanted in (
        (late, "2190-01-01T00:00:00Z"),
        (Union((late, once)), "2100-01-01T00:00:00Z"),
        (Union((late, leap)), "2028-02-29T00:00:00Z"),
        (Union((late, parse("* * * * * * 2150", Layout.SEVEN))), "2150-01-01T00:00:00Z"),
    ):
        (found,) = next_after(Timing(trigger), zone, after, 1)
        assert format_instant(found.logical_time) == wanted
    frozen = Exclusions(spans=((0, parse_wall("2180-01-01T00:00:00")),))
    (found,) = next_after(Timing(Elapsed(1), exclusions=frozen), zone, after, 1)
    assert format_instant(found.logical_time) == "2180-01-01T00:00:00Z"


def test_a_search_ends_where_exclusions_leave_nothing() -> None:
    nothing = Exclusions(rules=(parse("* * * * * *", Layout.SECONDS),))
    timing = Timing(Elapsed(1), exclusions=nothing)
    assert next_after(timing, ZONES.load("UTC"), datetime(2026, 1, 1, tzinfo=UTC), 1) == []


def test_the_wording_of_a_rule_is_no_part_of_its_hash() -> None:
    start = parse_wall("2026-01-05T09:00:00")
    one, other = (
        Timing(parse_rrule(text, start)) for text in ("FREQ=WEEKLY", "freq=weekly;byday=mo")
    )
    assert timing_hash(one) == timing_hash(other)
    assert timing_hash(one) != timing_hash(Timing(parse_rrule("FREQ=WEEKLY", start + DAY)))


def test_dateutil_agrees_on_a_biweekly_payday_over_years() -> None:
    start = datetime.fromisoformat("2026-01-09T09:00:00")
    rule = parse_rrule("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;WKST=MO", parse_wall(start.isoformat()))
    theirs = dateutil.rrule(dateutil.WEEKLY, start, interval=2, until=start + timedelta(days=3650))
    found = owed(Timing(rule), "2026-01-01T00:00:00Z", "2036-01-08T00:00:00Z")
    assert found == [f"{at.isoformat()}Z" for at in theirs]
