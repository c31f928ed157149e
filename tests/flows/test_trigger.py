"""Runs by hand: a key of their own, or an owed key, once and audited."""

from __future__ import annotations

import pytest

from cronledger.core.audit import By
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import RefusedError
from cronledger.flows.trigger import trigger, trigger_as
from ledgers import World

BY = By("mira", "the partner asked for it")
TONIGHT = OccurrenceKey.parse("nightly:2026-03-02T02:30:00Z")


@pytest.fixture
def nightly(world: World) -> World:
    world.at("2026-03-01T12:00:00").load("nightly: cron: '30 2 * * *'")
    return world


def test_a_run_by_hand_has_a_key_of_its_own_and_satisfies_none(nightly: World) -> None:
    done = trigger(nightly.file.schedules["nightly"], "4f1c", BY, nightly.ledger)
    assert (done.key, done.new) == ("nightly!4f1c", True)
    (job,) = nightly.sql("select key, state, kind from cronledger.jobs")
    assert job == {"key": "nightly!4f1c", "state": "eligible", "kind": "k"}
    assert nightly.recorded() == []
    (entry,) = nightly.sql("select actor, reason, action, subject from cronledger.audit")
    assert entry == {
        "actor": "mira",
        "reason": BY.reason,
        "action": "trigger",
        "subject": "nightly",
    }


def test_an_owed_key_runs_now_and_its_tick_finds_it_recorded(nightly: World) -> None:
    schedule = nightly.file.schedules["nightly"]
    done = [trigger_as(schedule, TONIGHT, BY, nightly.ledger, nightly.zones).new for _ in range(2)]
    assert done == [True, False]
    (job,) = nightly.sql("select key, state from cronledger.jobs")
    assert job == {"key": str(TONIGHT), "state": "eligible"}
    assert nightly.sql("select via from cronledger.occurrences") == [{"via": "manual"}]
    assert nightly.at("2026-03-02T02:30:01").enqueued() == []
    assert len(nightly.sql("select 1 from cronledger.audit")) == 1


@pytest.mark.parametrize("key", ["nightly:2026-03-02T02:31:00Z", "other:2026-03-02T02:30:00Z"])
def test_a_key_that_is_not_owed_is_refused(nightly: World, key: str) -> None:
    schedule = nightly.file.schedules["nightly"]
    with pytest.raises(RefusedError, match="does not owe"):
        trigger_as(schedule, OccurrenceKey.parse(key), BY, nightly.ledger, nightly.zones)
    assert nightly.sql("select 1 from cronledger.job") == []
