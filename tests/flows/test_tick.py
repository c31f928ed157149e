"""Ticks on a real ledger, at moments of the test's choosing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.events import Enqueued, KeysLeftOut, VersionsNoted
from cronledger.core.instants import to_epoch
from cronledger.errors import StoreError
from cronledger.flows.tick import Moment, tick
from ledgers import World, minutes, time, window

HOURLY = "h: cron: '0 * * * *'"
ALL = "catchup: {policy: all, window: P2D, max: 1000}"


def test_the_first_load_owes_nothing_before_itself(world: World) -> None:
    world.at("2026-03-01T12:30").load(f"{HOURLY}, {ALL}")
    assert world.tick() == {}
    assert world.at("2026-03-01T13:00:05").enqueued() == minutes("h", "2026-03-01T13:00", 1)
    assert world.classes("2026-02-01", "2026-03-02") == {"h:2026-03-01T13:00:00Z": "running"}


def test_a_key_due_at_the_very_instant_of_the_load_is_owed(world: World) -> None:
    world.at("2026-03-01T12:00:00").load(HOURLY)
    assert world.enqueued() == ["h:2026-03-01T12:00:00Z"]


def test_a_second_tick_over_the_same_window_enqueues_nothing(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, {ALL}")
    assert world.at("2026-03-02T00:00:01").enqueued() == minutes("h", "2026-03-01T01:00", 24, 3600)
    assert world.tick() == {}
    assert world.at("2026-03-02T00:30").tick() == {}
    assert world.counted("cronledger_occurrences_recorded_total") == 24
    assert world.counted("cronledger_jobs_created_total") == 24


@pytest.mark.parametrize("policy", ["all", "latest"])
def test_a_hole_in_the_middle_is_found(world: World, policy: str) -> None:
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, catchup: {{policy: {policy}, window: P2D}}")
    for hour in range(1, 6):
        world.at(f"2026-03-01T0{hour}:00:02").tick()
    world.lose("h:2026-03-01T03:00:00Z")
    assert world.at("2026-03-01T05:30").enqueued() == ["h:2026-03-01T03:00:00Z"]
    assert world.recorded() == minutes("h", "2026-03-01T01:00", 5, 3600)


def test_under_none_an_outage_is_omitted_but_a_later_loss_stays_missing(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, catchup: {{policy: none, window: P2D}}")
    world.at("2026-03-01T01:00:05").tick()
    world.at("2026-03-01T05:00:05").tick()  # down from 01:01 until 05:00
    assert world.recorded() == ["h:2026-03-01T01:00:00Z", "h:2026-03-01T05:00:00Z"]
    world.lose("h:2026-03-01T01:00:00Z")
    assert world.at("2026-03-01T05:30").tick() == {}
    assert world.classes("2026-03-01", "2026-03-02") == {
        "h:2026-03-01T01:00:00Z": "missing",
        "h:2026-03-01T02:00:00Z": "omitted policy_none",
        "h:2026-03-01T03:00:00Z": "omitted policy_none",
        "h:2026-03-01T04:00:00Z": "omitted policy_none",
        "h:2026-03-01T05:00:00Z": "running",
    }


def test_a_long_outage_is_stored_as_one_range_outside_the_window(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, catchup: {{policy: all, window: PT3H}}")
    assert world.at("2026-03-31T00:30").enqueued() == minutes("h", "2026-03-30T22:00", 3, 3600)
    assert world.left_out() == [
        ("h", "2026-03-01T01:00:00Z", "2026-03-30T21:00:01Z", "outside_window", 29 * 24 + 21)
    ]
    assert world.counted("cronledger_occurrences_abandoned_total") == 29 * 24 + 21
    assert world.counted("cronledger_occurrences_expected_total") == 30 * 24
    assert world.tick() == {}


def test_over_the_limit_is_omitted_and_never_blocks_what_follows(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(
        f"{HOURLY}, catchup: {{policy: all, window: P2D, max: 2, order: newest}}"
    )
    assert world.at("2026-03-01T05:30").enqueued() == minutes("h", "2026-03-01T04:00", 2, 3600)
    assert world.left_out()[0][3:] == ("over_limit", 3)
    assert world.at("2026-03-01T06:00:03").enqueued() == ["h:2026-03-01T06:00:00Z"]


def test_how_often_it_is_called_counts_as_on_time(world: World) -> None:
    world.at("2026-03-01T00:00:01").load("m: cron: '* * * * *', catchup: {policy: none}")
    every = timedelta(minutes=5)
    world.at("2026-03-01T00:06:00").tick(every=every)
    assert world.recorded() == minutes("m", "2026-03-01T00:01", 6)


def test_as_of_stands_in_for_now_and_is_recorded(world: World) -> None:
    world.at("2026-03-02T00:00").load(HOURLY, at="2026-03-01T00:30")
    assert world.enqueued(as_of="2026-03-01T01:00:10") == ["h:2026-03-01T01:00:00Z"]
    (row,) = world.sql("select as_of, recorded_at from cronledger.occurrences")
    assert row["as_of"] == time("2026-03-01T01:00:10")
    assert row["recorded_at"] == time("2026-03-02T00:00")
    assert world.classes("2026-03-01", "2026-03-01T01:30") == {"h:2026-03-01T01:00:00Z": "late"}


def test_an_edit_opens_a_version_from_now_and_leaves_the_past_alone(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, {ALL}")
    world.at("2026-03-01T03:00:01").tick()
    noted = world.at("2026-03-01T03:10").load(f"h: cron: '*/20 * * * *', {ALL}")
    assert (noted.opened, noted.ended) == (("h",), ())
    assert world.tick() == {}
    world.at("2026-03-01T04:00:01").tick()
    assert world.recorded() == [
        *minutes("h", "2026-03-01T01:00", 3, 3600),
        *minutes("h", "2026-03-01T03:20", 3, 1200),
    ]
    assert "unexpected" not in world.classes("2026-03-01", "2026-03-02").values()
    assert "missing" not in world.classes("2026-03-01", "2026-03-02").values()


def test_what_fell_due_before_an_edit_is_still_owed_by_the_old_version(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, {ALL}")
    world.at("2026-03-01T02:30").load(f"h: cron: '45 * * * *', {ALL}")
    assert world.at("2026-03-01T03:00").enqueued() == [
        "h:2026-03-01T01:00:00Z",
        "h:2026-03-01T02:00:00Z",
        "h:2026-03-01T02:45:00Z",
    ]


@pytest.mark.parametrize(
    "same",
    [
        "h: cron: '0  *   * * *'",
        "h: cron: '00 * * * *'",
        f"{HOURLY}, job: {{kind: other, payload: {{a: 1}}, priority: 3}}",
        f"{HOURLY}, grace: PT1H, catchup: {{policy: all}}",
    ],
)
def test_cosmetic_and_payload_edits_open_no_version(world: World, same: str) -> None:
    world.at("2026-03-01T00:00:01").load(HOURLY)
    noted = world.at("2026-03-01T00:10").load(same)
    assert (noted.opened, noted.ended) == ((), ())
    assert len(world.sql("select * from cronledger.schedule_version")) == 1


def test_an_edited_payload_holds_for_the_next_key(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(HOURLY)
    world.at("2026-03-01T01:00").tick()
    world.load(f"{HOURLY}, job: {{kind: k2, queue: q2, payload: {{a: [1, null]}}, priority: -4}}")
    world.at("2026-03-01T02:00").tick()
    rows = world.sql(
        "select j.kind, q.name, j.payload, j.priority from cronledger.job j"
        " join cronledger.queue q on q.id = j.queue_id order by j.logical_time"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("k", "default", {}, 0),
        ("k2", "q2", {"a": [1, None]}, -4),
    ]


def test_removing_ends_and_adding_again_never_back_fills(world: World) -> None:
    other = f"o: cron: '0 0 * * *', {ALL}"
    world.at("2026-03-01T00:30").load(f"{HOURLY}, {ALL}", other)
    world.at("2026-03-01T01:00").tick()
    assert world.at("2026-03-01T01:30").load(other).ended == ("h",)
    assert world.at("2026-03-01T05:30").tick() == {}
    assert world.at("2026-03-01T05:30").load(f"{HOURLY}, {ALL}", other).opened == ("h",)
    assert world.at("2026-03-01T06:00").enqueued() == ["h:2026-03-01T06:00:00Z"]
    assert world.classes("2026-03-01", "2026-03-02") == {
        "h:2026-03-01T01:00:00Z": "running",
        "h:2026-03-01T06:00:00Z": "running",
    }


def test_a_paused_key_is_suppressed_for_good(world: World) -> None:
    pause = "pause: [{from: '2026-03-01T02:00:00Z', to: '2026-03-01T04:00:00Z', reason: works}]"
    world.at("2026-03-01T00:00:01").load(f"{HOURLY}, {ALL}, {pause}")
    world.at("2026-03-01T04:00:01").tick()
    assert world.recorded() == ["h:2026-03-01T01:00:00Z", "h:2026-03-01T04:00:00Z"]
    world.load(f"{HOURLY}, {ALL}")
    assert world.tick() == {}
    assert world.classes("2026-03-01T01:30", "2026-03-01T03:30") == {
        "h:2026-03-01T02:00:00Z": "suppressed paused",
        "h:2026-03-01T03:00:00Z": "suppressed paused",
    }
    assert world.counted("cronledger_occurrences_skipped_total") == 2


def test_ranges_left_out_by_every_tick_stay_apart(world: World) -> None:
    world.at("2026-03-01T00:00:01").load("m: cron: '* * * * *'")
    for minute in (10, 20, 30):
        world.at(f"2026-03-01T00:{minute}:05").tick()
    spans = world.left_out()
    assert [count for *_, count in spans] == [8, 8, 8]
    assert len(world.recorded()) == 6
    assert world.counted("cronledger_occurrences_expected_total") == 30


def test_events_say_what_was_opened_enqueued_and_left_out(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(HOURLY)
    world.at("2026-03-01T04:00:01").tick()
    opened, enqueued, left = world.events
    assert opened == VersionsNoted(("h",), ())
    assert enqueued == Enqueued(
        "h", (to_epoch(time("2026-03-01T03:00")), to_epoch(time("2026-03-01T04:00"))), 0
    )
    assert isinstance(left, KeysLeftOut)
    assert [(s.reason, s.count) for s in left.left_out] == [("coalesced", 2)]


def test_a_schedule_that_was_never_noted_is_left_alone(world: World) -> None:
    world.at("2026-03-01T00:00:01").load(HOURLY)
    stranger = world.file.schedules["h"]
    moment = Moment(time("2026-03-01T01:00"))
    assert tick({"x": stranger}, world.ledger, world.zones, world.events.append, moment) == []


def test_a_database_with_habits_of_its_own_ticks_the_same(
    database: str, session_for: Callable[..., Session], zones: PinnedZones
) -> None:
    admin = session_for(database)
    name = admin.script("select current_database() as name")[0]["name"]
    for habit in ("timezone to 'America/New_York'", "datestyle to 'SQL, DMY'",
                  "intervalstyle to 'iso_8601'"):  # fmt: skip
        admin.script(f'alter database "{name}" set {habit}')
    world = World(session_for(database), zones)
    # 06:30Z is the second 01:30 in New York: an hour before it is 05:30Z, not 04:30Z.
    world.at("2026-11-01T04:00:00Z").load(
        "q: cron: '*/15 * * * *', deadline: PT1H, catchup: {policy: none, window: PT2H}"
    )
    world.at("2026-11-01T06:30:00Z").tick()
    assert world.recorded() == minutes("q", "2026-11-01T05:30", 5, 900)
    assert world.now.utcoffset() == timedelta(0)


# --- cases of others, by the number they have in tests/cases/schedules.yaml ---


def test_k03_asleep_for_four_minutes_runs_none_under_none_and_one_under_latest(
    world: World,
) -> None:
    world.at("2021-05-04T15:42:30").load(
        "n: cron: '* * * * *', catchup: {policy: none}",
        "l: cron: '* * * * *', catchup: {policy: latest}",
    )
    world.at("2021-05-04T15:43:00").tick()
    assert world.at("2021-05-04T15:47:33").enqueued() == ["l:2021-05-04T15:47:00Z"]


def test_k04_a_pause_ends_before_the_key_at_its_end(world: World) -> None:
    pause = "pause: [{from: '2021-10-21T11:31:00Z', to: '2021-10-21T11:35:00Z', reason: works}]"
    world.at("2021-10-21T11:30:30").load(f"m: cron: '* * * * *', {ALL}, {pause}")
    assert world.at("2021-10-21T11:35:00").enqueued() == ["m:2021-10-21T11:35:00Z"]


def test_k05_a_restart_during_the_minute_loses_nothing(world: World) -> None:
    world.at("2025-04-23T02:00").load(
        "d: cron: '0 3 * * *', deadline: PT1H", "n: cron: '0 3 * * *', catchup: {policy: none}"
    )
    assert world.at("2025-04-23T03:03:00").enqueued() == ["d:2025-04-23T03:00:00Z"]


def test_k06_within_the_deadline_is_on_time_even_without_catch_up(world: World) -> None:
    world.at("2021-02-05T12:00:00").load(
        "t: cron: {expr: '0 */2 * * * *', fields: 6s}, deadline: PT60S, catchup: {policy: none}"
    )
    world.tick()
    assert world.at("2021-02-05T12:04:30").enqueued() == ["t:2021-02-05T12:04:00Z"]


def test_k12_downtime_across_a_gap_keeps_the_moved_run(world: World) -> None:
    new_york = "cron: '30 2 * * *', timezone: America/New_York, deadline: PT1H"
    world.at("2026-03-08T06:00:00Z").load(f"n: {new_york}", f"s: {new_york}, dst: rfc5545")
    assert world.at("2026-03-08T07:20:00Z").enqueued() == ["n:2026-03-08T07:00:00Z"]
    assert world.at("2026-03-08T07:30:00Z").enqueued() == ["s:2026-03-08T07:30:00Z"]


def test_a_tick_decides_far_more_schedules_than_one_transaction_takes(world: World) -> None:
    lines = [f"s{n:04d}: cron: '0 * * * *'" for n in range(1100)]
    world.at("2026-03-01T00:30").load(*lines)
    assert len(world.at("2026-03-01T01:00").enqueued()) == 1100
    assert world.tick() == {}
    due = window("2026-03-01T01:00", "2026-03-01T01:01")
    assert sum(d.recorded for d in world.drifts("2026-03-01", "2026-03-01T01:30")) == 1100
    assert world.ledger.recorded([(1, due)])[1] == [to_epoch(time("2026-03-01T01:00"))]


def test_q048_a_schedule_that_somebody_has_locked_holds_up_no_other(world: World) -> None:
    world.at("2026-03-01T00:30").load(
        f"a: cron: '0 * * * *', {ALL}", f"b: cron: '0 * * * *', {ALL}"
    )
    world.patience = timedelta(milliseconds=200)
    with psycopg.connect(world.session.dsn) as other:
        other.execute("select from cronledger.schedule where name = 'a' for update")
        world.at("2026-03-01T01:00:05")
        with pytest.raises(StoreError, match=r"^a: .*lock timeout") as refused:
            world.tick()
        assert refused.value.sqlstate == "55P03"
        assert world.recorded() == ["b:2026-03-01T01:00:00Z"]
    assert world.at("2026-03-01T02:00:05").enqueued() == [
        "a:2026-03-01T01:00:00Z",
        "a:2026-03-01T02:00:00Z",
        "b:2026-03-01T02:00:00Z",
    ]
