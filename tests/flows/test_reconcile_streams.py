"""A long reconcile comes in slices, holds few of them, and goes on where it was interrupted."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cronledger.core.diff import OccurrenceClass
from cronledger.core.keys import OccurrenceKey
from cronledger.flows import reconcile as flow
from cronledger.flows.measure import drift_facts
from cronledger.flows.reconcile import reconcile
from cronledger.flows.slicing import Rest
from ledgers import World, minutes, window

LINES = (
    "a: cron: '* * * * *', catchup: {policy: all, window: P30D, max: 10000}",
    "b: cron: '0 * * * *', catchup: {policy: all, window: P30D, max: 10000}",
    "c: cron: '*/10 * * * *', catchup: {policy: all, window: P30D, max: 10000}",
)
WHOLE = ("2026-03-01", "2026-03-04")
LOST = [*minutes("a", "2026-03-01T05:00", 3), *minutes("c", "2026-03-02T00:00", 2, 86400)]


@pytest.fixture
def damaged(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three days, some keys lost; slices are of an hour of the busiest schedule."""
    world.at("2026-03-01T00:00:01").load(*LINES)
    world.at("2026-03-03T23:59:59").tick()
    world.lose(*LOST)
    monkeypatch.setattr(flow, "SLICE_KEYS", 60)
    monkeypatch.setattr(flow, "DETAILED_KEYS", 60)
    monkeypatch.setattr(flow, "ROUND_KEYS", 200)
    return world.at("2026-03-05")


@pytest.mark.parametrize("details", [True, False])
def test_slices_hold_together_what_the_window_holds(damaged: World, details: bool) -> None:
    drifts = damaged.drifts(*WHOLE, details=details)
    of_a = [drift for drift in drifts if drift.schedule == "a"]
    assert len(of_a) > 60
    assert [one.window.end for one in of_a[:-1]] == [two.window.start for two in of_a[1:]]
    assert max(drift.expected for drift in drifts) <= 60
    by_name = {n: sum(d.expected for d in drifts if d.schedule == n) for n in "abc"}
    assert by_name == {"a": 4319, "b": 71, "c": 431}
    assert sum(drift.recorded for drift in drifts) == 4821 - len(LOST)
    found = damaged.classes(*WHOLE, details=details)
    assert [key for key, word in found.items() if word == "missing"] == LOST


@pytest.mark.parametrize("details", [True, False])
def test_each_key_stands_in_one_slice_and_they_come_in_order(damaged: World, details: bool) -> None:
    keys = [
        (drift.schedule, finding.epoch)
        for drift in damaged.drifts(*WHOLE, details=details)
        for finding in drift.findings
    ]
    assert all(one < two for one, two in pairwise(keys))


@pytest.mark.parametrize("stop", [0, 1, 17, 70, 71, 72])
def test_an_interrupted_one_goes_on_after_the_key_that_it_reached(
    damaged: World, stop: int
) -> None:
    whole = damaged.drifts(*WHOLE, details=False)
    rest = Rest(window(*WHOLE), whole[stop].reached)
    left = list(
        reconcile(damaged.file.schedules, damaged.ledger, damaged.zones, rest, details=False)
    )
    assert [(d.schedule, d.findings) for d in left if d.findings] == [
        (d.schedule, d.findings) for d in whole[stop + 1 :] if d.findings
    ]
    assert sum(d.expected for d in left) == sum(d.expected for d in whole[stop + 1 :])


def test_after_the_last_key_nothing_is_left(damaged: World) -> None:
    rest = Rest(window(*WHOLE), OccurrenceKey("c", window(*WHOLE).end))
    found = reconcile(damaged.file.schedules, damaged.ledger, damaged.zones, rest)
    assert list(found) == []


def test_a_round_is_asked_for_only_when_it_is_wanted(damaged: World) -> None:
    """What was compared is handed over before the next is read: nothing piles up."""
    drifts = reconcile(
        damaged.file.schedules, damaged.ledger, damaged.zones, window(*WHOLE), details=False
    )
    first = next(drifts)
    damaged.lose("c:2026-03-03T12:00:00Z")
    later = [key for drift in drifts for key in drift.epochs({OccurrenceClass.MISSING})]
    assert first.schedule == "a"
    assert len(later) == len(LOST) + 1


def test_the_facts_of_a_schedule_are_those_of_all_its_slices(damaged: World) -> None:
    facts = {fact.schedule: fact for fact in drift_facts(damaged.drifts(*WHOLE, details=False))}
    assert {name: fact.missing for name, fact in facts.items()} == {"a": 3, "b": 0, "c": 2}
    assert facts["a"].oldest_missing == window("2026-03-01T05:00", "2026-03-02").start


def test_an_empty_window_still_names_each_schedule(damaged: World) -> None:
    drifts = damaged.drifts("2027-01-01", "2027-01-02", details=False)
    assert [(d.schedule, d.expected, d.recorded) for d in drifts] == [
        ("a", 0, 0), ("b", 0, 0), ("c", 0, 0)
    ]  # fmt: skip
