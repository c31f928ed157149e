"""Who leads: one at a time, by the database's clock, and nobody waits for one who is gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from cronledger.adapters.postgres.snapshot import PostgresMeasured
from cronledger.core.snapshot import LedgerSnapshot, Reading
from workbench import SessionFor

START = datetime(2026, 12, 1, tzinfo=UTC)
SPAN = timedelta(seconds=45)


@pytest.fixture
def one(any_database: str, session_for: SessionFor) -> PostgresMeasured:
    return at(0, any_database, session_for)


def at(seconds: float, database: str, session_for: SessionFor) -> PostgresMeasured:
    now = START + timedelta(seconds=seconds)
    return PostgresMeasured(session_for(database, test_now=now.isoformat()))


def reading(seconds: float) -> Reading:
    return Reading(LedgerSnapshot(START + timedelta(seconds=seconds)))


def test_whoever_leads_goes_on_and_the_others_follow(one: PostgresMeasured) -> None:
    assert one.lead("a", SPAN) == (True, False)
    assert one.lead("b", SPAN) == (False, False)
    assert one.lead("a", SPAN) == (True, True)  # for b it keeps its readings
    assert one.lead("b", SPAN) == (False, False)


def test_another_leads_when_the_time_is_over_and_not_before(
    one: PostgresMeasured, any_database: str, session_for: SessionFor
) -> None:
    one.lead("a", SPAN)
    assert not at(44.9, any_database, session_for).lead("b", SPAN).leads
    late = at(45, any_database, session_for)
    assert late.lead("b", SPAN).leads
    assert not late.lead("a", SPAN).leads
    # Nobody follows any more who has not said so for a while.
    assert at(150, any_database, session_for).lead("b", SPAN) == (True, False)


def test_whoever_resigns_is_followed_at_once(one: PostgresMeasured) -> None:
    one.lead("a", SPAN)
    one.resign("b")  # leads nothing
    assert not one.lead("b", SPAN).leads
    one.resign("a")
    assert one.lead("b", SPAN).leads


def test_of_many_at_once_one_leads(any_database: str, session_for: SessionFor) -> None:
    start = Barrier(8)
    sessions = [at(0, any_database, session_for) for _ in range(8)]

    def lead(number: int) -> bool:
        start.wait()
        return sessions[number].lead(f"sidecar-{number}", SPAN).leads

    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert sum(pool.map(lead, range(8))) == 1
            for number, session in enumerate(sessions):
                session.resign(f"sidecar-{number}")


def test_only_the_leader_keeps_a_reading_and_only_a_later_one(
    one: PostgresMeasured, any_database: str, session_for: SessionFor
) -> None:
    assert one.kept() is None
    one.lead("a", SPAN)
    one.keep("b", reading(9))
    assert one.kept() is None
    one.keep("a", reading(2))
    one.keep("a", reading(1))
    assert one.kept() == reading(2)
    at(46, any_database, session_for).keep("a", reading(46))  # it led
    assert one.kept() == reading(2)
