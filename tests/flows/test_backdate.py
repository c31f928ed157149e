"""Backdating on a real ledger: what it shows, what it changes, and what it leaves alone."""

from __future__ import annotations

from cronledger.core.audit import By
from cronledger.core.instants import format_instant, from_epoch
from cronledger.flows.backdate import Backdating, backdate, plan_backdating
from ledgers import World

HOURLY = "h: cron: '0 * * * *', catchup: {policy: all, window: PT2H}"
DATED = (
    "h: versions: [{cron: '0 * * * *'}, {effective_from: '2026-03-01T06:00', cron: '30 * * * *'}],"
    " catchup: {policy: all, window: PT2H}"
)
BY = By("mia", "the change came late")


def planned(world: World) -> list[Backdating]:
    standings = {standing.name: standing for standing in world.ledger.standings()}
    chosen = world.file.schedules.values()
    return list(plan_backdating(chosen, standings, world.zones, world.now))


def loaded_late(world: World) -> World:
    """Hourly from midnight on, recorded up to 8:00; at 8:10 the file says half past since 6:00."""
    world.at("2026-03-01T00:00:01").load(HOURLY)
    for hour in range(1, 9):
        world.at(f"2026-03-01T0{hour}:00:05").tick()
    world.at("2026-03-01T08:10").load(DATED)
    return world


def test_a_dry_run_says_which_keys_come_and_go(world: World) -> None:
    (one,) = planned(loaded_late(world))
    assert format_instant(one.since) == "2026-03-01T06:00:00Z"
    moved = [tuple(format_instant(from_epoch(e))[11:16] for e in pair) for pair in one.edit.moved]
    assert moved == [("06:00", "06:30"), ("07:00", "07:30")]
    removed = [format_instant(from_epoch(e))[11:16] for e in one.edit.removed]
    assert (removed, one.edit.added) == (["08:00"], ())


def test_what_is_recorded_stays_and_what_is_owed_now_is_missing_or_caught_up(world: World) -> None:
    (one,) = planned(loaded_late(world))
    recorded = world.recorded()
    backdate(one, BY, world.ledger, world.zones)
    assert world.recorded() == recorded
    assert planned(world) == []
    found = world.classes("2026-03-01T05:00", "2026-03-01T08:10")
    assert {key[13:18]: what for key, what in found.items()} == {
        "05:00": "running",
        "06:00": "unexpected",
        "06:30": "missing",
        "07:00": "unexpected",
        "07:30": "missing",
        "08:00": "unexpected",
    }
    assert world.enqueued() == ["h:2026-03-01T06:30:00Z", "h:2026-03-01T07:30:00Z"]
    assert world.load(DATED).opened == ()


def test_who_and_why_and_which_keys_are_in_the_audit(world: World) -> None:
    (one,) = planned(loaded_late(world))
    backdate(one, BY, world.ledger, world.zones)
    (row,) = world.sql("select actor, reason, action, subject, detail from cronledger.audit")
    assert (row["actor"], row["reason"], row["action"], row["subject"]) == (
        "mia", "the change came late", "backdate", "h",
    )  # fmt: skip
    assert row["detail"]["added"] == ["h:2026-03-01T06:30:00Z", "h:2026-03-01T07:30:00Z"]
    assert (row["detail"]["removed_count"], row["detail"]["since"]) == (3, "2026-03-01T06:00:00Z")


def test_a_date_before_the_first_load_reaches_back_too(world: World) -> None:
    line = "h: versions: [{effective_from: '2026-02-28T22:00', cron: '0 * * * *'}]"
    world.at("2026-03-01T00:30").load(line)
    assert world.classes("2026-02-28", "2026-03-01T00:30") == {}
    (one,) = planned(world)
    backdate(one, BY, world.ledger, world.zones)
    assert list(world.classes("2026-02-28", "2026-03-01T00:30")) == [
        "h:2026-02-28T22:00:00Z",
        "h:2026-02-28T23:00:00Z",
        "h:2026-03-01T00:00:00Z",
    ]


def test_without_dates_in_the_past_there_is_nothing_to_do(world: World) -> None:
    world.at("2026-03-01T00:30").load("h: cron: '0 * * * *'")
    assert planned(world) == []
    world.load(
        "h: versions: [{cron: '0 * * * *'}, {effective_from: '2026-04-01', cron: '1 * * * *'}]"
    )
    assert planned(world) == []
