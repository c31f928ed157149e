"""Repeats of a failure: an outage of hours is a line a minute, and its end is said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronledger.adapters.observe.repeats import KINDS_MAX, Repeats
from cronledger.core.events import (
    Event,
    LoopFailed,
    LoopRecovered,
    Rescued,
    TelemetryFailed,
    TelemetrySent,
)

SECOND = timedelta(seconds=1)
GONE = LoopFailed("tick", "connection to port 5432 refused", "08006", SECOND)


class Log:
    """What is said, by a clock that the test moves."""

    def __init__(self) -> None:
        self.now = timedelta(hours=1)
        self._repeats = Repeats(lambda: self.now)

    def after(self, seconds: float, event: Event) -> int | None:
        self.now += timedelta(seconds=seconds)
        return self._repeats.heard(event)


@pytest.fixture
def log() -> Log:
    return Log()


def test_an_outage_of_six_hours_is_a_line_a_minute_and_every_failure_is_counted(log: Log) -> None:
    said = [log.after(10, GONE) for _ in range(6 * 360)]
    lines = [count for count in said if count is not None]
    assert said[0] == 0
    assert len(lines) == 360
    end = log.after(10, LoopRecovered("tick", len(said)))
    assert end is not None
    assert sum(lines) + end + len(lines) == len(said)
    assert log.after(10, LoopRecovered("tick", 1)) is None


def test_another_failure_or_loop_is_said_at_once(log: Log) -> None:
    assert log.after(1, GONE) == 0
    assert log.after(1, GONE) is None
    assert log.after(1, LoopFailed("tick", "no such table", "42P01", SECOND)) == 0
    assert log.after(1, LoopFailed("measure", GONE.error, GONE.sqlstate, SECOND)) == 0
    assert log.after(1, LoopRecovered("worker", 1)) is None
    assert log.after(1, LoopRecovered("measure", 1)) == 0
    assert log.after(1, LoopRecovered("tick", 3)) == 1


def test_what_differs_in_numbers_alone_is_the_same(log: Log) -> None:
    for number in range(10):
        event = LoopFailed("tick", f"process {number} waits", "40P01", SECOND * number)
        assert log.after(1, event) == (0 if number == 0 else None)


def test_what_fails_and_works_by_turns_makes_no_more_lines(log: Log) -> None:
    said = [
        (log.after(1, GONE), log.after(1, LoopRecovered("tick", 1))) for _ in range(300)
    ]  # ten minutes
    lines = [count for pair in said for count in pair if count is not None]
    assert said[0] == (0, 0)
    assert len(lines) <= 2 * 11
    assert len(lines) >= 2 * 9


def test_failures_that_never_repeat_take_no_memory(log: Log) -> None:
    for number in range(10 * KINDS_MAX):
        word = "".join(chr(97 + int(digit)) for digit in str(number))
        assert log.after(0, LoopFailed("tick", word, "", SECOND)) == 0
    [subject] = log._repeats._subjects.values()
    assert len(subject.kinds) == KINDS_MAX


def test_a_collector_that_is_away_is_a_failure_and_the_rest_is_said_as_it_comes(log: Log) -> None:
    assert log.after(1, TelemetryFailed("traces", "away", 1)) == 0
    assert log.after(1, TelemetryFailed("traces", "away", 2)) is None
    assert log.after(1, TelemetryFailed("metrics", "away", 1)) == 0
    assert log.after(1, TelemetrySent("traces", 2)) == 1
    assert [log.after(0, Rescued(1)) for _ in range(3)] == [0, 0, 0]
