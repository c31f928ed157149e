"""Splay, pace, overlap, earlier ids and other schedulers, on a real ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronledger.core.instants import format_instant
from cronledger.core.schedule import Overlap
from ledgers import World

MINUTELY = "m: cron: '* * * * *', catchup: {policy: all, window: P1D}"


def change(world: World, name: str, **settings: Any) -> None:
    """Give a schedule of the loaded file settings that are not part of its timing."""
    schedules = dict(world.file.schedules)
    schedules[name] = replace(schedules[name], **settings)
    world.file = replace(world.file, schedules=schedules)


def starts(world: World) -> dict[str, str]:
    rows = world.sql("select key, run_at from cronledger.jobs order by key")
    return {row["key"]: format_instant(row["run_at"]) for row in rows}


def finish_all(world: World) -> None:
    """As a worker would."""
    rows = world.sql("select * from cronledger.claim(array['default'], array['k'], 1000, 'w')")
    ids, tokens = [r["job_id"] for r in rows], [r["token"] for r in rows]
    world.sql("select cronledger.complete(%(ids)s, %(tokens)s)", ids=ids, tokens=tokens)


def test_splay_moves_the_start_of_each_job_alike_and_no_key(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(MINUTELY)
    change(world, "m", splay=timedelta(seconds=50))
    for minute in (1, 2, 3):
        key = f"m:2026-03-01T00:0{minute}:00Z"
        assert world.at(f"2026-03-01T00:0{minute}:01").enqueued() == [key]
    rows = world.sql("select run_at - logical_time as late from cronledger.job")
    late = {row["late"] for row in rows}
    assert len(late) == 1
    assert timedelta(0) < late.pop() < timedelta(seconds=50)


def test_a_catch_up_is_paced_and_what_is_on_time_is_not(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(MINUTELY)
    change(
        world, "m", catchup=replace(world.file.schedules["m"].catchup, pace=timedelta(minutes=2))
    )
    world.at("2026-03-01T00:04:10").tick()
    assert starts(world) == {
        "m:2026-03-01T00:01:00Z": "2026-03-01T00:04:10Z",
        "m:2026-03-01T00:02:00Z": "2026-03-01T00:06:10Z",
        "m:2026-03-01T00:03:00Z": "2026-03-01T00:08:10Z",
        "m:2026-03-01T00:04:00Z": "2026-03-01T00:04:00Z",
    }


def test_overlap_skip_suppresses_what_falls_due_while_one_is_unfinished(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(MINUTELY)
    change(world, "m", overlap=Overlap.SKIP)
    assert world.at("2026-03-01T00:01:01").enqueued() == ["m:2026-03-01T00:01:00Z"]
    assert world.at("2026-03-01T00:02:01").enqueued() == []
    finish_all(world)
    assert world.at("2026-03-01T00:03:01").enqueued() == ["m:2026-03-01T00:03:00Z"]
    assert world.left_out() == [("m", "2026-03-01T00:02:00Z", "2026-03-01T00:02:01Z", "overlap", 1)]
    found = world.classes("2026-03-01", "2026-03-02")
    assert found["m:2026-03-01T00:02:00Z"] == "suppressed overlap"


def claimed(world: World) -> list[str]:
    """The keys that a worker gets now."""
    rows = world.sql("select key from cronledger.claim(array['default'], array['k'], 1000, 'w')")
    return [row["key"] for row in rows]


def finish_leased(world: World) -> None:
    world.sql(
        "select cronledger.complete(array_agg(job_id), array_agg(token)) from cronledger.lease"
    )


def test_overlap_buffer_all_lets_each_run_wait_for_the_one_before(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(f"{MINUTELY}, overlap: buffer_all")
    assert len(world.at("2026-03-01T00:03:10").enqueued()) == 3
    for minute in (1, 2, 3):
        assert claimed(world) == [f"m:2026-03-01T00:0{minute}:00Z"]
        assert claimed(world) == []
        finish_leased(world)


def test_overlap_buffer_one_lets_one_wait_and_suppresses_the_rest(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(f"{MINUTELY}, overlap: buffer_one")
    assert world.at("2026-03-01T00:01:01").enqueued() == ["m:2026-03-01T00:01:00Z"]
    assert claimed(world) == ["m:2026-03-01T00:01:00Z"]
    assert world.at("2026-03-01T00:02:01").enqueued() == ["m:2026-03-01T00:02:00Z"]
    assert world.at("2026-03-01T00:04:01").enqueued() == []
    assert world.left_out() == [("m", "2026-03-01T00:03:00Z", "2026-03-01T00:04:01Z", "overlap", 2)]
    assert claimed(world) == []
    finish_leased(world)
    assert claimed(world) == ["m:2026-03-01T00:02:00Z"]
    assert world.at("2026-03-01T00:05:01").enqueued() == ["m:2026-03-01T00:05:00Z"]


def test_overlap_buffer_one_takes_the_oldest_two_of_one_pass(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(f"{MINUTELY}, overlap: buffer_one")
    found = world.at("2026-03-01T00:04:10").enqueued()
    assert found == ["m:2026-03-01T00:01:00Z", "m:2026-03-01T00:02:00Z"]


def test_overlap_cancel_other_ends_what_waits_and_asks_what_runs(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(f"{MINUTELY}, overlap: cancel_other")
    world.at("2026-03-01T00:01:01").tick()
    assert claimed(world) == ["m:2026-03-01T00:01:00Z"]
    world.at("2026-03-01T00:02:01").tick()
    world.at("2026-03-01T00:03:01").tick()
    states = {row["key"][-6:]: row["state"] for row in world.sql("table cronledger.jobs")}
    assert states == {"01:00Z": "leased", "02:00Z": "cancelled", "03:00Z": "eligible"}
    (held,) = world.sql("select job_id, token, cancel_requested_at from cronledger.lease")
    assert held["cancel_requested_at"] is not None
    assert claimed(world) == []
    world.sql(
        "select cronledger.fail(%(job_id)s, %(token)s, 'cancelled', 'as told')",
        job_id=held["job_id"],
        token=held["token"],
    )
    assert claimed(world) == ["m:2026-03-01T00:03:00Z"]
    actors = world.sql("select actor, action from cronledger.audit")
    assert [tuple(row.values()) for row in actors] == [("cronledger", "cancel")] * 2


def test_overlap_skip_takes_the_newest_of_one_pass(world: World) -> None:
    world.at("2026-03-01T00:00:30").load(MINUTELY)
    change(world, "m", overlap=Overlap.SKIP)
    assert world.at("2026-03-01T00:05:01").enqueued() == ["m:2026-03-01T00:05:00Z"]
    assert world.left_out() == [("m", "2026-03-01T00:01:00Z", "2026-03-01T00:04:01Z", "overlap", 4)]


def test_an_earlier_id_keeps_its_keys_and_what_it_still_owes(world: World) -> None:
    world.at("2026-03-01T00:00:30").load("old: cron: '* * * * *', catchup: {policy: all}")
    world.at("2026-03-01T00:01:01").tick()
    world.at("2026-03-01T00:03:30").load("new: cron: '* * * * *', catchup: {policy: all}")
    change(world, "new", aliases=("old",))
    assert world.at("2026-03-01T00:04:01").enqueued() == [
        "new:2026-03-01T00:04:00Z",
        "old:2026-03-01T00:02:00Z",
        "old:2026-03-01T00:03:00Z",
    ]
    only_new = world.drifts("2026-03-01", "2026-03-02", only=["new"])
    assert [(drift.schedule, drift.expected) for drift in only_new] == [("new", 1), ("old", 3)]


@pytest.fixture
def observed(world: World) -> World:
    """A schedule that pg_cron runs, and we compare."""
    world.at("2026-03-01T00:00:30").load("legacy: cron: '* * * * *', grace: PT30S")
    change(world, "legacy", managed_by="pg_cron")
    return world.at("2026-03-01T00:04:10")


def test_what_another_scheduler_manages_is_never_enqueued(observed: World) -> None:
    assert observed.tick() == {}
    assert set(observed.classes("2026-03-01", "2026-03-02").values()) == {"missing"}


def test_a_run_that_another_scheduler_reports_is_recorded_once(observed: World) -> None:
    report = "select cronledger.record_external('legacy', array[%(a)s, %(b)s]::timestamptz[]) as n"
    times = {"a": "2026-03-01T00:01:00Z", "b": "2026-03-01T00:04:00Z"}
    assert [observed.sql(report, **times)[0]["n"] for _ in range(2)] == [2, 0]
    for details in (True, False):
        found = observed.classes("2026-03-01", "2026-03-02", details=details)
        assert found.get("legacy:2026-03-01T00:01:00Z") == ("late" if details else None)
        assert found.get("legacy:2026-03-01T00:04:00Z") == ("completed" if details else None)
        assert found["legacy:2026-03-01T00:02:00Z"] == "missing"
