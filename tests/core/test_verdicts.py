"""Which verdict each fact gives, and that the worst stands first."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronledger.core.snapshot import (
    DriftFacts,
    LedgerSnapshot,
    QueuedState,
    QueueFacts,
    ScheduleFacts,
)
from cronledger.core.status import Kind, Line, QueueNow, Reading, ScheduleNow, Verdict, lines

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUEUE = QueueNow("mail", 10 * MINUTE, None, None, 2, None, 0, 0)
PAUSED = replace(QUEUE, paused_by="ann", pause_reason="outage")
HELD = QueueFacts("mail", {QueuedState.ELIGIBLE: 3, QueuedState.LEASED: 2})
SCHEDULE = ScheduleNow("report", 60 * MINUTE)


def verdicts(
    *,
    drift: DriftFacts | None = None,
    unfinished: datetime | None = None,
    queue: QueueNow = QUEUE,
    held: QueueFacts = HELD,
    schedule: ScheduleNow = SCHEDULE,
    reconciled: datetime | None = NOON - MINUTE,
) -> dict[Kind, Line]:
    ledger = LedgerSnapshot(
        NOON, (held,), (ScheduleFacts("report", None, unfinished),), (), reconciled
    )
    drifts = (drift,) if drift is not None else ()
    found = lines(Reading(ledger, drifts, (schedule,), (queue,), NOON, 2), 10 * MINUTE)
    return {line.kind: line for line in found}


def test_without_trouble_all_is_fine() -> None:
    found = verdicts()
    assert {line.verdict for line in found.values()} == {Verdict.FINE}
    assert found[Kind.QUEUE].what == "3 eligible, 2 leased, 0 dead, 2 workers"
    assert not any(line.command for line in found.values())


@pytest.mark.parametrize(
    ("drift", "unfinished", "verdict", "since"),
    [
        (DriftFacts("report", 2, NOON - 90 * MINUTE), None, "missing", NOON - 90 * MINUTE),
        (None, NOON - 61 * MINUTE, "overdue", NOON - 61 * MINUTE),
        (None, NOON - 60 * MINUTE, "fine", None),
        (DriftFacts("report", orphaned=1), None, "orphaned", None),
        (DriftFacts("report", unexpected=1), None, "unexpected", None),
        (DriftFacts("report"), None, "fine", None),
    ],
)
def test_a_schedule(
    drift: DriftFacts | None, unfinished: datetime | None, verdict: str, since: datetime | None
) -> None:
    line = verdicts(drift=drift, unfinished=unfinished)[Kind.SCHEDULE]
    assert (line.verdict, line.since) == (Verdict(verdict), since)
    assert line.command == ("" if verdict == "fine" else "cronledger reconcile report")


def test_a_schedule_whose_objective_nobody_knows_is_never_overdue() -> None:
    found = verdicts(unfinished=NOON - 999 * MINUTE, schedule=ScheduleNow("report"))
    assert found[Kind.SCHEDULE].verdict is Verdict.FINE


@pytest.mark.parametrize(
    ("queue", "held", "verdict"),
    [
        (QUEUE, replace(HELD, oldest_eligible=NOON - 11 * MINUTE), "behind"),
        (QUEUE, replace(HELD, oldest_eligible=NOON - 10 * MINUTE), "fine"),
        (QUEUE, replace(HELD, oldest_expired_lease=NOON - 6 * MINUTE), "lease expired"),
        (QUEUE, replace(HELD, oldest_expired_lease=NOON - 4 * MINUTE), "fine"),
        (QUEUE, replace(HELD, jobs={QueuedState.DEAD: 1}, oldest_dead_letter=NOON), "dead"),
        (replace(QUEUE, retries_denied=4), HELD, "budget spent"),
        (PAUSED, replace(HELD, claims_paused=True), "paused"),
        (PAUSED, replace(HELD, claims_paused=True, oldest_eligible=NOON - 11 * MINUTE), "behind"),
        # A million fresh jobs are no trouble: depth is never one.
        (QUEUE, replace(HELD, jobs={QueuedState.ELIGIBLE: 10**6}, oldest_eligible=NOON), "fine"),
    ],
)
def test_a_queue(queue: QueueNow, held: QueueFacts, verdict: str) -> None:
    line = verdicts(queue=queue, held=held)[Kind.QUEUE]
    assert line.verdict is Verdict(verdict)
    assert ("paused by ann: outage" in line.what) is held.claims_paused
    assert line.verdict.is_wrong is (verdict not in ("paused", "fine"))


@pytest.mark.parametrize(
    ("reconciled", "verdict"),
    [(None, "fine"), (NOON - 10 * MINUTE, "fine"), (NOON - 11 * MINUTE, "silent")],
)
def test_the_sidecar(reconciled: datetime | None, verdict: str) -> None:
    assert verdicts(reconciled=reconciled)[Kind.SIDECAR].verdict is Verdict(verdict)


def test_the_worst_stands_first_and_of_equals_the_oldest() -> None:
    ledger = LedgerSnapshot(NOON, (replace(HELD, jobs={QueuedState.DEAD: 1}),))
    drifts = (
        DriftFacts("a", unexpected=1),
        DriftFacts("b", 1, NOON - MINUTE),
        DriftFacts("c", 1, NOON - 5 * MINUTE),
    )
    names = tuple(ScheduleNow(name) for name in "abcd")
    found = lines(Reading(ledger, drifts, names, (QUEUE,), None, 0), MINUTE)
    assert [line.name for line in found] == ["c", "b", "mail", "a", "d", "-"]
    assert [str(line.verdict) for line in found] == [
        "missing", "missing", "dead", "unexpected", "fine", "fine"
    ]  # fmt: skip


def test_one_line_names_all_its_troubles() -> None:
    line = verdicts(
        drift=DriftFacts("report", 2, NOON - 90 * MINUTE, unexpected=1),
        unfinished=NOON - 95 * MINUTE,
    )[Kind.SCHEDULE]
    assert line.what == "2 missing; unfinished beyond its objective; 1 unexpected"


def test_obs69_why_nothing_runs_is_told_apart() -> None:
    """Paused, without a worker, paused in the file, and not due, each in words of its own."""
    waiting = replace(HELD, jobs={QueuedState.ELIGIBLE: 3}, oldest_eligible=NOON - 11 * MINUTE)
    nobody = replace(QUEUE, workers=0)
    paused = verdicts(queue=replace(PAUSED, workers=0), held=replace(waiting, claims_paused=True))
    alone = verdicts(queue=nobody, held=waiting)
    suspended = verdicts(schedule=replace(SCHEDULE, paused=True))
    not_due = verdicts(queue=nobody, held=QueueFacts("mail", {}))
    assert paused[Kind.QUEUE].what.startswith("paused by ann: outage; 3 eligible")
    assert alone[Kind.QUEUE].what == "3 eligible, 0 leased, 0 dead, 0 workers"
    assert alone[Kind.QUEUE].verdict is Verdict.BEHIND
    assert suspended[Kind.SCHEDULE].what == "paused in the file"
    assert not_due[Kind.QUEUE].verdict is Verdict.FINE
