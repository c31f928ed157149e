"""Occurrences that are kept no longer: their numbers stay, and nobody takes them for missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import psycopg
import pytest

from cronledger.adapters.postgres.prune import PostgresPrune
from cronledger.adapters.zones import PinnedZones
from cronledger.core.audit import By
from cronledger.core.diff import OccurrenceClass
from cronledger.core.keys import OccurrenceKey
from cronledger.core.retention import DayCount, Pruned
from cronledger.errors import ConfigError
from cronledger.flows.backfill import order
from cronledger.flows.trigger import trigger_as
from ledgers import World, file_of, minutes
from workbench import SessionFor

LINE = "h: cron: '0 * * * *', catchup: {policy: all, window: P29D, max: 10000}"
KEPT = "retention: {jobs: P1D, keys: P1D, receipts: P30D, occurrences: P30D}\n"
SPAN = ("2026-03-01T00:30", "2026-03-04T00:30")
LATER = "2026-04-02T12:00:00"  # of March the first two days are not kept then


@pytest.fixture
def old(any_database: str, session_for: SessionFor, zones: PinnedZones) -> World:
    """Three days of hours in March, all completed but three: dead, waiting and lost."""
    world = World(session_for(any_database), zones).at("2026-03-01T00:30:00")
    world.load(LINE, queues=KEPT)
    world.at("2026-03-04T00:30:00").tick()
    world.lose("h:2026-03-01T05:00:00Z")
    _end(world, "completed", "true")
    _end(world, "dead", "j.key = 'h:2026-03-01T07:00:00Z'")
    world.sql(
        "with gone as (delete from cronledger.outcome o using cronledger.job j"
        " where j.id = o.job_id and j.key = 'h:2026-03-01T09:00:00Z' returning o.*)"
        " insert into cronledger.ready (job_id, eligible_at, due_at, queue_id, priority, attempt,"
        " max_attempts, kind, schema_version)"
        " select job_id, finished_at, finished_at, queue_id, 0, 0, 8, 'k', 1 from gone"
    )
    return world


def _end(world: World, state: str, which: str) -> None:
    """Bring jobs to an end, or to another one."""
    world.sql(
        "insert into cronledger.outcome select r.job_id, j.logical_time, j.logical_time,"
        " j.logical_time, r.queue_id, 1, 'completed' from cronledger.ready r"
        " join cronledger.job j on j.id = r.job_id"
    )
    world.sql("delete from cronledger.ready")
    world.sql(
        f"update cronledger.outcome o set state = '{state}' from cronledger.job j"
        f" where j.id = o.job_id and {which}"
    )


def prune(world: World) -> Pruned:
    return PostgresPrune(world.session).prune(lambda: True)


def test_the_numbers_of_each_day_stay(old: World) -> None:
    old.at(LATER)
    assert PostgresPrune(old.session).prunable().jobs == 70
    prune(old)  # notes how the jobs ended, and drops what has
    assert [tuple(row.values()) for row in old.sql("select day, state, count from"
            " cronledger.history order by day, state")] == [
        (date(2026, 3, 1), "completed", 20), (date(2026, 3, 1), "dead", 1),
        (date(2026, 3, 2), "completed", 24),
    ]  # fmt: skip
    assert PostgresPrune(old.session).prunable().occurrences == 0
    drift = old.drifts(*SPAN)[0]
    assert drift.history[0] == DayCount(date(2026, 3, 1), "completed", 20)
    assert sum(day.count for day in drift.history) == 45


def test_what_went_is_pruned_and_never_missing(old: World) -> None:
    before = old.at(LATER).classes(*SPAN)
    assert before["h:2026-03-01T05:00:00Z"] == "missing"
    prune(old)
    after = old.classes(*SPAN)
    pruned = minutes("h", "2026-03-01T01:00", 47, 3600)
    pruned.remove("h:2026-03-01T09:00:00Z")  # it waits still
    assert [key for key, word in after.items() if word == "pruned"] == pruned
    assert {key: word for key, word in after.items() if word != "pruned"} == {
        key: word for key, word in before.items() if key not in pruned
    }
    assert old.classes(*SPAN, details=False) == {}


def test_nobody_enqueues_what_is_pruned(old: World) -> None:
    """Neither a tick whose window reaches so far, nor a backfill, nor a person."""
    old.at(LATER)
    prune(old)
    before = old.recorded()
    long = file_of(LINE.replace("window: P29D, max: 10000", "window: P90D, max: 710"))
    schedule = long.schedules["h"]
    old.file = replace(old.file, schedules=long.schedules)
    old.sql("update cronledger.schedule set decided_to = '2026-03-01T00:30:00Z'")
    old.tick()
    assert [key for key in old.recorded() if key not in before] == minutes(
        "h", "2026-03-04T01:00", 29 * 24 + 12, 3600
    )
    assert old.left_out() == [], "a tick does not even look there"
    ordered = order(old.drifts(*SPAN), old.file.schedules, {*OccurrenceClass}, None)
    written = old.sql("select count(*) as n from cronledger.occurrence")
    key = OccurrenceKey("h", datetime(2026, 3, 1, 6, tzinfo=UTC))
    done = trigger_as(schedule, key, By("mira", "to see it refused"), old.ledger, old.zones)
    assert not done.new
    assert old.sql("select count(*) as n from cronledger.occurrence") == written
    assert ordered.total > 0, "what is pruned stands among the findings"


def test_the_newest_stays_so_that_it_is_known_when_it_last_ran(old: World) -> None:
    old.at("2027-03-01T00:00:00")
    prune(old)
    assert old.recorded() == ["h:2026-03-01T09:00:00Z", "h:2026-03-04T00:00:00Z"]


def test_what_waited_is_counted_when_it_has_ended(old: World) -> None:
    old.at(LATER)
    prune(old)
    _end(old, "completed", "true")
    prune(old)
    assert prune(old).occurrences == 0
    rows = old.sql("select count from cronledger.history where state = 'completed' order by day")
    assert [row["count"] for row in rows] == [21, 24]


def test_times_of_another_scheduler_are_not_recorded_again(old: World) -> None:
    old.at(LATER)
    prune(old)
    record = "select cronledger.record_external('h', %(times)s::timestamptz[]) as n"
    times = ["2026-03-01T06:00:00Z", "2026-04-02T11:00:00Z"]
    assert old.sql(record, times=times) == [{"n": 1}]


def test_two_batches_are_one_after_the_other(old: World) -> None:
    old.at(LATER)
    prune(old)
    old.sql("update cronledger.ledger set keep_occurrences = null")
    old.sql("delete from cronledger.history")
    step = "select cronledger.drop_occurrences('2026-03-04T00:00:00Z', 10) as n"
    assert [old.sql(step)[0]["n"] for _ in range(4)] == [10, 10, 4, 0]
    (row,) = old.sql("select pruned_to from cronledger.schedule")
    assert row["pruned_to"] == datetime(2026, 3, 3, 23, 0, 1, tzinfo=UTC)
    assert old.sql("select day, count from cronledger.history") == [
        {"day": date(2026, 3, 3), "count": 24}
    ]


def test_an_old_key_waits_until_nothing_is_pruned(old: World) -> None:
    """A key whose row is being dropped is not taken for one that was never there."""
    old.at(LATER)
    with psycopg.connect(old.session.dsn) as pruning:
        pruning.execute("select cronledger.drop_occurrences('2026-03-02T00:00:00Z', 10)")
        old.sql("set lock_timeout = '50ms'")
        for times, waits in (("2026-03-01T01:00:00Z", True), ("2026-04-02T01:00:00Z", False)):
            call = "select cronledger.wait_for_pruning(array[%(t)s]::timestamptz[])"
            if waits:
                with pytest.raises(Exception, match="lock timeout"):
                    old.sql(call, t=times)
            else:
                old.sql(call, t=times)


def test_without_a_word_in_the_file_occurrences_stay_for_ever(old: World) -> None:
    old.load(LINE, queues="retention: {jobs: P1D}\n")
    old.at("2036-01-01T00:00:00")
    before = old.recorded()
    assert prune(old).occurrences == 0
    assert old.recorded() == before


@pytest.mark.parametrize(
    ("retention", "said"),
    [
        ("{occurrences: P89D}", "shorter than receipts"),
        ("{occurrences: P90D}", "not longer than the catch-up window of h"),
    ],
)
def test_a_retention_that_forgets_too_early_is_refused(retention: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        file_of(LINE.replace("P29D", "P90D"), queues=f"retention: {retention}\n")
