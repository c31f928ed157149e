"""Two sidecars over one ledger: one measures and reconciles, the other shows it and takes over."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commands import until
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from ledgers import World, file_text
from sidecars import Running

DAILY = "d: cron: '0 3 * * *', catchup: {policy: none}"
OK, LEFT = (
    f'cronledger_reconcile_runs_total{{outcome="{outcome}"}}' for outcome in ("ok", "not_leader")
)
Pair = tuple[Running, Running]


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path, database: str) -> Iterator[Pair]:
    """One that leads, and one that follows; with options, if the test has some."""
    options: tuple[str, ...] = getattr(request, "param", ())
    file = tmp_path / "schedules.yaml"
    file.write_text(file_text(DAILY), encoding="utf-8")
    first = Running(file, database, *options).serves()
    started = [first]
    try:
        until(lambda: first.metric("cronledger_leader") == 1, "the first one leads")
        started.append(Running(file, database, *options).serves())
        until(lambda: started[1].metric(LEFT), "the second one follows")
        yield first, started[1]
    finally:
        for running in started:
            running.end(signal.SIGKILL)


@pytest.fixture
def world(database: str, session_for: Callable[..., Session], zones: PinnedZones) -> World:
    return World(session_for(database), zones)


def test_the_one_that_follows_shows_what_the_other_found(pair: Pair, world: World) -> None:
    leader, follower = pair
    world.sql(
        "insert into cronledger.occurrence (schedule_id, logical_time, version, utc_offset, fold,"
        " moved, collapsed, via, recorded_at)"
        " select id, date_trunc('minute', now()) - interval '10 minutes', 1, 0, false, false, 1,"
        " 'manual', now() from cronledger.schedule where name = 'd'"
    )
    unexpected = 'cronledger_schedule_unexpected_occurrences{schedule="d"}'
    until(lambda: follower.metric(unexpected) == 1, "what the leader found")
    assert follower.metric(OK) == 0
    assert (leader.metric("cronledger_leader"), follower.metric("cronledger_leader")) == (1, 0)
    taken = "cronledger_snapshot_timestamp_seconds"
    before = follower.metric(taken)
    until(lambda: (follower.metric(taken) or 0) > (before or 0), "the next reading")


def test_another_takes_over_from_one_that_was_killed(pair: Pair) -> None:
    leader, follower = pair
    leader.end(signal.SIGKILL)
    until(lambda: follower.metric("cronledger_leader") == 1, "the one that is left leads")
    until(lambda: follower.metric(OK), "and reconciles")
    assert follower.metric("cronledger_leader_transitions_total") == 1
    assert follower.get("/-/ready").status_code == 200


@pytest.mark.parametrize("pair", [("--reconcile-every", "1h")], indirect=True)
def test_who_takes_over_reconciles_at_once(pair: Pair) -> None:
    """The wait of one that follows is not added to the time since the last reconcile."""
    leader, follower = pair
    until(lambda: leader.metric(OK), "the first reconcile")
    leader.end(signal.SIGKILL)
    until(lambda: follower.metric(OK), "the one that is left reconciles")


def test_one_that_is_stopped_hands_over_and_a_frozen_one_learns_of_it(pair: Pair) -> None:
    leader, follower = pair
    leader.send(signal.SIGSTOP)
    until(lambda: follower.metric("cronledger_leader") == 1, "the other leads meanwhile")
    leader.send(signal.SIGCONT)
    until(lambda: leader.metric("cronledger_leader") == 0, "the one that was frozen follows")
    assert follower.end(signal.SIGTERM) == 0
    until(lambda: leader.metric("cronledger_leader") == 1, "it leads again")
