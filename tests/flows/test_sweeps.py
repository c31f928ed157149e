"""What the sidecar's reconcile finds, and when, though most of its passes look at what is new."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronledger.adapters.clock import SystemClock
from cronledger.core.snapshot import LedgerSnapshot
from cronledger.daemon.board import Board
from cronledger.daemon.passes import SWEEP, Tools
from cronledger.daemon.reconciler import Reconciler
from ledgers import World

MINUTELY = "m: cron: '* * * * *', catchup: {policy: all, window: P1D, max: 1000}"
START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Watched:
    """A sidecar's reconcile over a schedule of every minute, six hours after it began."""

    def __init__(self, world: World) -> None:
        self.world = world.at(START)
        world.load(MINUTELY)
        world.at(START + 360 * MINUTE).tick()
        self.board = Board(world.file, "0", "2026a", MINUTE, START)
        self.board.ticked, self.board.leads = True, True
        tools = Tools(world.ledger, world.zones, world.events.append, SystemClock())
        self.reconciler = Reconciler(self.board, tools, timedelta(days=7))

    def missing(self, minute: float) -> int:
        """After a pass at that minute, at which everything due is recorded."""
        self.world.at(START + minute * MINUTE)
        self.reconciler.once()
        (drift,) = self.board.drift
        return drift.missing

    def lose(self, minute: int) -> None:
        self.world.sql(
            "delete from cronledger.occurrence where logical_time = %(at)s",
            at=START + minute * MINUTE,
        )


@pytest.fixture
def watched(world: World) -> Watched:
    return Watched(world)


def test_what_is_lost_of_the_last_hour_is_found_at_once(watched: Watched) -> None:
    assert watched.missing(360) == 0
    watched.lose(330)
    assert watched.missing(360.5) == 1


def test_what_is_lost_before_is_found_by_the_next_sweep(watched: Watched) -> None:
    assert watched.missing(360) == 0
    watched.lose(100)
    sweep = 360 + SWEEP / MINUTE
    assert watched.missing(sweep - 0.1) == 0
    assert watched.missing(sweep) == 1


def test_a_schedule_with_which_something_is_wrong_is_looked_at_whole(watched: Watched) -> None:
    watched.lose(100)
    assert watched.missing(360) == 1
    watched.lose(101)
    assert watched.missing(360.2) == 2
    watched.world.sql("delete from cronledger.job")
    watched.world.sql("delete from cronledger.occurrence")
    watched.world.sql("update cronledger.schedule set decided_to = %(at)s", at=START)
    watched.world.tick()
    assert watched.missing(360.4) == 0


def test_a_new_file_and_a_new_term_begin_with_a_sweep(watched: Watched) -> None:
    assert watched.missing(360) == 0
    watched.lose(100)
    watched.board.file = replace(watched.board.file)
    assert watched.missing(360.2) == 1
    watched.board.leads = False
    watched.board.ledger = LedgerSnapshot(START)
    watched.reconciler.once()
    watched.board.leads, watched.board.drift = True, ()
    watched.lose(101)
    assert watched.missing(360.4) == 2
