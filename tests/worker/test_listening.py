"""When a worker looks for jobs beside its polls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronledger.worker.listening import Looks

POLL = timedelta(seconds=1)


@dataclass
class Standing:
    """A clock that the test moves, and how often the worker was woken."""

    at: timedelta = timedelta(0)
    woken: int = 0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + self.at

    def monotonic(self) -> timedelta:
        return self.at

    def draw(self) -> float:
        return 0.5

    def wake(self) -> None:
        self.woken += 1

    def looks(self, poll: timedelta = POLL) -> Looks:
        return Looks(self, self.wake, poll)


def ms(number: float) -> timedelta:
    return timedelta(milliseconds=number)


def look_times(standing: Standing, looks: Looks) -> list[float]:
    """When it looks until its next poll, in milliseconds from now."""
    began, found = standing.at, []
    while True:
        if looks.due():
            found.append((standing.at - began) / ms(1))
        left = looks.within(POLL)
        if left == POLL:
            return found
        standing.at += left


def test_without_a_wake_up_it_only_polls() -> None:
    standing = Standing()
    looks = standing.looks()
    assert look_times(standing, looks) == []
    assert (looks.within(POLL), looks.rest(), standing.woken) == (POLL, ms(0), 0)


def test_a_wake_up_is_a_look_at_once_and_a_few_soon_after() -> None:
    standing = Standing()
    looks = standing.looks()
    looks.heard()
    looks.heard()  # before it looked: the same to it
    assert standing.woken == 1
    assert look_times(standing, looks) == [0, 25, 75, 300]
    assert look_times(standing, looks) == []


def test_the_next_wake_up_begins_them_again() -> None:
    standing = Standing()
    looks = standing.looks()
    looks.heard()
    assert looks.due()
    standing.at += ms(20)
    looks.heard()
    assert standing.woken == 2
    assert look_times(standing, looks) == [0, 25, 75, 300]


def test_who_is_woken_in_vain_rests_longer_each_time_and_looks_once() -> None:
    standing = Standing()
    looks = standing.looks()
    rests = []
    for _ in range(9):
        looks.heard()
        assert looks.due()
        looks.found(0)
        rests.append(looks.rest() / ms(1))
    assert rests == [0, 0, 50, 100, 200, 400, 500, 500, 500]  # never beyond half a poll
    looks.heard()
    assert look_times(standing, looks) == [0]


def test_a_job_ends_the_rest() -> None:
    standing = Standing()
    looks = standing.looks(timedelta(hours=1))
    for _ in range(40):
        looks.heard()
        looks.due()
        looks.found(0)
    assert looks.rest() == timedelta(seconds=1)
    looks.found(0)
    assert looks.rest() == timedelta(seconds=1)
    looks.found(1)
    assert looks.rest() == ms(0)
    looks.heard()
    assert look_times(standing, looks) == [0, 25, 75, 300]


def test_who_has_no_room_for_a_job_is_not_woken_in_vain() -> None:
    standing = Standing()
    looks = standing.looks()
    for _ in range(9):
        looks.heard()
        assert looks.due()  # and claims nothing
    assert not looks.due()
    looks.found(0)  # of a claim that no wake-up was the reason of
    assert looks.rest() == ms(0)
