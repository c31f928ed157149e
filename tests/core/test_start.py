"""When a job may start: splay and pace move run_at, never the key."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.instants import from_epoch, to_epoch
from cronledger.core.schedule import Order
from cronledger.core.start import run_ats, share
from ledgers import schedule_of, time

NOW = time("2026-03-01T12:00:00Z")
HOURLY = schedule_of("hourly: cron: '0 * * * *', catchup: {policy: all, window: P7D}")
HOURS = [to_epoch(NOW) - 3600 * n for n in (3, 2, 1)]
IDS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True)


def test_without_splay_or_pace_a_job_starts_at_its_logical_time() -> None:
    assert run_ats(HOURLY, HOURS, [None] * 3, (), NOW) == [from_epoch(e) for e in HOURS]


@given(IDS)
def test_the_share_of_a_schedule_is_stable_and_within_bounds(name: str) -> None:
    assert 0 <= share(name) < 1
    assert share(name) == share(name)


def test_many_schedules_spread_over_the_whole_splay() -> None:
    shares = [share(f"tenant-{n}") for n in range(1000)]
    tenths = [int(s * 10) for s in shares]
    assert all(60 < tenths.count(n) < 140 for n in range(10))


@given(IDS, st.integers(1, 7200), st.integers(1, 7200))
def test_a_splay_never_reaches_the_next_occurrence(name: str, splay: int, gap: int) -> None:
    schedule = replace(HOURLY, id=name, splay=timedelta(seconds=splay))
    (start,) = run_ats(schedule, [HOURS[0]], [HOURS[0] + gap], (), NOW)
    assert from_epoch(HOURS[0]) <= start < from_epoch(HOURS[0] + min(splay, gap))


def test_keys_that_are_caught_up_start_a_pace_apart_in_the_order_of_the_policy() -> None:
    paced = replace(HOURLY, catchup=replace(HOURLY.catchup, pace=timedelta(seconds=30)))
    starts = run_ats(paced, HOURS, [None] * 3, frozenset(HOURS), NOW)
    assert starts[0] == NOW
    assert {b - a for a, b in pairwise(starts)} == {timedelta(seconds=30)}
    newest = replace(paced, catchup=replace(paced.catchup, order=Order.NEWEST))
    assert run_ats(newest, HOURS, [None] * 3, frozenset(HOURS), NOW) == starts[::-1]
