"""Which schedules have metrics of their own: unhealthy ones first, and for a while after."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronledger.core.snapshot import (
    DeclaredSchedule,
    DriftFacts,
    Facts,
    FileFacts,
    LedgerSnapshot,
    ProcessFacts,
    ScheduleFacts,
    ScheduleState,
)
from cronledger.core.tiers import LINGERS, Choice, PerSchedule, Shown, shown

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
UNHEALTHY = Choice(PerSchedule.UNHEALTHY)


def declared(name: str) -> DeclaredSchedule:
    return DeclaredSchedule(
        name, "default", "k", "UTC", ScheduleState.ACTIVE, HOUR, timedelta(minutes=5), None, None
    )


def facts(*drift: DriftFacts, at: datetime = NOW, **oldest: timedelta) -> Facts:
    recorded = (ScheduleFacts(name, None, NOW - age) for name, age in oldest.items())
    return Facts(
        ProcessFacts("1", "3", "2026"),
        FileFacts("digest", tuple(declared(name) for name in "edcba"), ()),
        LedgerSnapshot(at, schedules=tuple(recorded)),
        drift,
    )


def names(choice: Choice, of: Facts) -> set[str]:
    return set(shown(of, choice, {}).names)


def test_all_are_shown_as_far_as_the_limit_goes_by_name() -> None:
    found = shown(facts(), Choice(most=3), {})
    assert (set(found.names), found.omitted) == ({"a", "b", "c"}, 2)
    assert shown(facts(), Choice(most=5), {}).omitted == 0


@pytest.mark.parametrize(
    "wrong",
    [DriftFacts("e", missing=1), DriftFacts("e", unexpected=1), DriftFacts("e", orphaned=1)],
)
def test_an_unhealthy_one_is_shown_whatever_the_limit_is(wrong: DriftFacts) -> None:
    of = facts(wrong, DriftFacts("a"))
    assert names(Choice(most=0), of) == names(UNHEALTHY, of) == {"e"}
    assert shown(of, Choice(most=2), {}) == Shown(frozenset("ea"), 3, {"e": NOW})


def test_one_that_is_on_its_way_to_be_late_is_unhealthy() -> None:
    half = HOUR / 2
    assert names(UNHEALTHY, facts(d=half)) == set()
    assert names(UNHEALTHY, facts(d=half + timedelta(seconds=1))) == {"d"}


def test_one_that_recovered_lingers() -> None:
    found = shown(facts(DriftFacts("c", missing=1)), UNHEALTHY, {})
    soon = NOW + LINGERS - timedelta(seconds=1)
    later = shown(facts(at=soon), UNHEALTHY, found.unhealthy_at)
    assert later.names == {"c"}
    assert shown(facts(at=NOW + LINGERS), UNHEALTHY, later.unhealthy_at) == Shown(frozenset())


def test_none_is_none_and_nothing_is_omitted_by_a_choice() -> None:
    of = facts(DriftFacts("c", missing=1))
    assert shown(of, Choice(PerSchedule.NONE), {}) == Shown(frozenset())
    assert shown(of, UNHEALTHY, {}).omitted == 0


def test_one_that_the_file_does_not_have_is_not_shown() -> None:
    assert names(UNHEALTHY, facts(DriftFacts("gone", missing=1))) == set()


def test_without_a_reading_the_limit_alone_decides() -> None:
    assert names(Choice(most=1), replace(facts(DriftFacts("c", missing=1)), ledger=None)) == {"a"}
    assert names(UNHEALTHY, replace(facts(), ledger=None)) == set()
