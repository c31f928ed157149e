"""Random crons, policies and windows near clock changes, for the property tests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

import oracle
from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import CronError, Layout, parse
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import DayRule, Dst, Fold, Gap, Timing, Wildcard

ZONES = PinnedZones()
NAMES = sorted(ZONES.names())
# Half-hour and two-hour changes, a missing day, midnight gaps, a negative summer time, odd seconds.
STRANGE = [
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Antarctica/Troll",
    "Pacific/Apia",
    "Europe/Dublin",
    "America/Sao_Paulo",
    "Asia/Beirut",
    "Africa/Cairo",
    "America/New_York",
    "Europe/Amsterdam",
    "Asia/Manila",
    "America/Juneau",
]
FROM_1900 = int(datetime(1900, 1, 1, tzinfo=UTC).timestamp())
FROM_1970 = 0
UNTIL_2150 = int(datetime(2150, 1, 1, tzinfo=UTC).timestamp())

SETTINGS = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
THOROUGH = settings(SETTINGS, max_examples=4000)


@dataclass(frozen=True)
class Question:
    """A cron in two readings, its policies, and a window near a clock change of its zone."""

    timing: Timing
    expression: oracle.Expression
    policies: oracle.Policies
    start: int
    end: int
    step: int

    @property
    def window(self) -> Window:
        return Window(from_epoch(self.start), from_epoch(self.end))


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    """One item of numbers: plain, a range, a step, or one of the two with a step."""
    one = st.integers(low, high)
    steps = st.integers(1, high - low + 1)
    spans = st.tuples(one, one).map(sorted)
    return st.one_of(
        one.map(str),
        spans.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(spans, steps).map(lambda of: f"{of[0][0]}-{of[0][1]}/{of[1]}"),
        st.tuples(one, steps).map(lambda of: f"{of[0]}/{of[1]}"),
        steps.map(lambda step: f"*/{step}"),
    )


def lists(items: st.SearchStrategy[str], stars: int = 1) -> st.SearchStrategy[str]:
    """A field: `*` as often as `stars` says, else up to three items."""
    several = st.lists(items, min_size=1, max_size=3).map(",".join)
    return st.one_of(*[st.just("*")] * stars, several, items)


HOURS = st.one_of(lists(numbers(0, 23)), numbers(0, 3), st.sampled_from(["0", "1", "2", "3", "23"]))
MINUTES = lists(st.one_of(numbers(0, 59), st.sampled_from(["0", "15", "30", "45", "59"])))
PLACES = [f"{weekday}#{nth}" for weekday in (0, "MON", "sat") for nth in range(1, 6)]
DAYS = lists(
    st.one_of(
        numbers(1, 31),
        st.sampled_from(["L", "L-1", "L-7", "L-30", "LW", "1W", "15w", "31W"]),
        st.integers(1, 31).map(lambda day: f"{day}W"),
    ),
    stars=4,
)
MONTHS = lists(st.one_of(numbers(1, 12), st.sampled_from(["JAN-mar", "apr", "OCT-DEC/2"])), stars=6)
WEEKDAYS = lists(
    st.one_of(
        numbers(0, 7),
        st.sampled_from(
            ["MON-FRI", "sat-sun", "MON-SUN", "FRIL", "0L", "7L", "Sun-Wed/2", *PLACES]
        ),
    ),
    stars=4,
)
DAY_FIELDS = st.tuples(DAYS, MONTHS, WEEKDAYS)
EVERY_DAY = ("*", "*", "*")
POLICIES = st.builds(
    oracle.Policies,
    st.sampled_from([gap.value for gap in Gap]),
    st.sampled_from([fold.value for fold in Fold]),
    st.sampled_from([wildcard.value for wildcard in Wildcard]),
    st.sampled_from([rule.value for rule in DayRule]),
)


@st.composite
def places(draw: st.DrawFn, earliest: int = FROM_1900) -> tuple[str, int]:
    """A zone and an instant, mostly one at which the zone moves its clock."""
    name = draw(st.one_of(st.sampled_from(STRANGE), st.sampled_from(NAMES)))
    changes = [at for at in ZONES.load(name).transitions if at > earliest]
    any_time = st.integers(earliest, 7_000_000_000)
    return name, draw(st.sampled_from(changes) if changes else any_time)


def near_hours(name: str, change: int) -> st.SearchStrategy[str]:
    """Hour fields that name the hours which the clock shows around a change."""
    zone = ZONES.load(name)
    shown = {
        str((change + zone.offset_at(change + side) + hours * 3600) // 3600 % 24)
        for side in (-1, 0)
        for hours in (-1, 0, 1)
    }
    return st.lists(st.sampled_from(sorted(shown)), min_size=1, max_size=3).map(",".join)


def start_near(change: int) -> st.SearchStrategy[int]:
    """Where a window begins: mostly within hours of the change, so that its edge cuts a repeat."""
    return st.one_of(
        st.integers(-9_000, 9_000),
        st.integers(-93_600, 93_600),
        st.integers(-150, 120).map(lambda n: n * 60),
    ).map(lambda seconds: change + seconds)


@st.composite
def questions(draw: st.DrawFn, *, seconds: bool = False) -> Question:
    """A question whose window spans, touches or just misses a clock change."""
    name, change = draw(places())
    start = draw(start_near(change))
    end = start + draw(st.integers(0, 7_200 if seconds else 129_600))
    minute = draw(st.one_of(st.sampled_from(["0", "30", "15,45", "0-59/10", "7/20"]), MINUTES))
    hour = draw(st.one_of(near_hours(name, change), near_hours(name, change), HOURS))
    days = draw(st.one_of(st.just(EVERY_DAY), st.just(EVERY_DAY), DAY_FIELDS))
    second = draw(lists(numbers(0, 59))) if seconds else "0"
    zone = oracle.pinned(name)
    # Local mean time is not whole minutes away from UTC: there only the second's walk is exact.
    whole = all(oracle.offset_at(zone, at) % 60 == 0 for at in (start - 90_000, end + 90_000))
    assume(seconds or whole)
    text = " ".join(([second] if seconds else []) + [minute, hour, *days])
    try:
        cron = parse(text, Layout.SECONDS if seconds else Layout.FIVE)
    except CronError:
        # Only a day that never comes is refused among these.
        assume(condition=False)
        raise
    policies = draw(POLICIES)
    dst = Dst(Gap(policies.gap), Fold(policies.fold), Wildcard(policies.wildcard))
    return Question(
        Timing(cron, name, dst, DayRule(policies.day_rule)),
        oracle.Expression(minute, hour, *days, second=second),
        policies,
        start,
        end,
        1 if seconds else 60,
    )
