"""The class of every key, and why one was left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.causes import Cause
from cronledger.core.diff import (
    Bounds,
    Fate,
    OccurrenceClass,
    Stages,
    classify_absent,
    classify_recorded,
    reasons_of,
)
from cronledger.core.instants import to_epoch
from cronledger.core.lifecycle import JobState
from cronledger.core.plan import LeftOut, Reason

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_EPOCH = to_epoch(NOON)
GRACE, OBJECTIVE = timedelta(minutes=5), timedelta(hours=1)
BOUNDS = Bounds(GRACE, OBJECTIVE)
DONE = Stages(NOON, NOON, NOON, NOON, 1, "completed", "tick")


@pytest.mark.parametrize(
    ("stages", "expected", "found"),
    [
        (DONE, True, OccurrenceClass.COMPLETED),
        (replace(DONE, state="leased"), True, OccurrenceClass.RUNNING),
        (replace(DONE, state="retrying"), True, OccurrenceClass.RUNNING),
        (replace(DONE, state="dead"), True, OccurrenceClass.DEAD),
        (replace(DONE, state="cancelled"), True, OccurrenceClass.CANCELLED),
        (replace(DONE, state=None), True, OccurrenceClass.ORPHANED),
        (replace(DONE, recorded_at=NOON + GRACE), True, OccurrenceClass.COMPLETED),
        (
            replace(DONE, recorded_at=NOON + GRACE + timedelta(milliseconds=1)),
            True,
            OccurrenceClass.LATE,
        ),
        (replace(DONE, recorded_at=NOON + timedelta(days=1), state="dead"), True,
         OccurrenceClass.DEAD),
        (DONE, False, OccurrenceClass.UNEXPECTED),
        (replace(DONE, state=None), False, OccurrenceClass.UNEXPECTED),
    ],
)  # fmt: skip
def test_a_recorded_key_has_the_worst_class_that_is_true_of_it(
    stages: Stages, expected: bool, found: OccurrenceClass
) -> None:
    cause = None if expected else Cause.SECOND_PRODUCER
    finding = classify_recorded(NOON_EPOCH, stages, BOUNDS, NOON + timedelta(hours=1), cause)
    assert finding.cause is cause
    assert finding.occurrence_class is found
    assert finding.age == timedelta(hours=1)
    assert finding.stages == stages


@pytest.mark.parametrize(
    ("age", "found"),
    [(timedelta(0), []), (GRACE, []), (GRACE + timedelta(milliseconds=1), ["missing"])],
)
def test_a_key_within_its_grace_is_not_missing_yet(age: timedelta, found: list[str]) -> None:
    assert [f.occurrence_class for f in classify_absent([NOON_EPOCH], {}, BOUNDS, NOON + age)] == (
        found
    )


@pytest.mark.parametrize("reason", list(Reason))
def test_a_key_left_out_is_never_missing(reason: Reason) -> None:
    late = NOON + timedelta(days=1)
    (finding,) = classify_absent(
        [NOON_EPOCH], {NOON_EPOCH: reason}, Bounds(GRACE, OBJECTIVE, late), late
    )
    suppressed = reason in {"paused", "skipped", "overlap"}
    assert finding.occurrence_class == ("suppressed" if suppressed else "omitted")
    assert finding.reason is reason


IN_TIME = NOON + OBJECTIVE
TOO_LATE = IN_TIME + timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("stages", "fate"),
    [
        (replace(DONE, committed_at=IN_TIME), Fate.COMPLETED_ON_TIME),
        (replace(DONE, committed_at=TOO_LATE), Fate.COMPLETED_LATE),
        (replace(DONE, recorded_at=IN_TIME, committed_at=IN_TIME), Fate.COMPLETED_ON_TIME),
        (replace(DONE, recorded_at=NOON + OBJECTIVE, state="leased"), Fate.RUNNING),
        (replace(DONE, state="retrying"), Fate.RETRYING),
        (replace(DONE, state="eligible"), Fate.ELIGIBLE),
        (replace(DONE, state="scheduled"), Fate.SCHEDULED),
        (replace(DONE, state="dead"), Fate.DEAD),
        (replace(DONE, state="cancelled"), Fate.CANCELLED),
        (replace(DONE, state=None), Fate.ORPHANED),
        (Stages(IN_TIME, None, None, None, None, None, "external"), Fate.COMPLETED_ON_TIME),
        (Stages(TOO_LATE, None, None, None, None, None, "external"), Fate.COMPLETED_LATE),
    ],
)
def test_the_fate_says_how_far_it_came_whether_recorded_late_or_not(
    stages: Stages, fate: Fate
) -> None:
    finding = classify_recorded(NOON_EPOCH, stages, BOUNDS, NOON + timedelta(days=1))
    assert finding.fate is fate
    assert finding.cause is None


@pytest.mark.parametrize("state", [state for state in JobState if state is not JobState.COMPLETED])
def test_every_state_of_a_job_has_a_fate(state: JobState) -> None:
    stages = replace(DONE, state=str(state), committed_at=None)
    finding = classify_recorded(NOON_EPOCH, stages, BOUNDS, NOON + timedelta(days=1))
    assert finding.fate == ("running" if state == "leased" else state)


@pytest.mark.parametrize(
    ("pruned_to", "found"),
    [(NOON, "missing"), (NOON + timedelta(seconds=1), "pruned"), (None, "missing")],
)
def test_what_may_have_been_dropped_is_not_missing(pruned_to: datetime | None, found: str) -> None:
    late = NOON + timedelta(days=1)
    (finding,) = classify_absent([NOON_EPOCH], {}, Bounds(GRACE, OBJECTIVE, pruned_to), late)
    assert finding.occurrence_class == found


EPOCHS = st.sets(st.integers(0, 40)).map(sorted)


@given(EPOCHS, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.sampled_from(Reason))))
def test_a_reason_is_that_of_the_first_range_around_a_key(
    epochs: list[int], spans: list[tuple[int, int, Reason]]
) -> None:
    ranges = [LeftOut(start, start + length, reason, 1) for start, length, reason in spans]
    wanted = {}
    for epoch in epochs:
        around = [r for start, length, r in spans if start <= epoch < start + length]
        if around:
            wanted[epoch] = around[0]
    assert reasons_of(epochs, ranges) == wanted
