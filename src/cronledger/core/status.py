"""What is wrong now, worst first: one verdict for each schedule, each queue and the sidecar.

Waiting is judged by its age against the objective, as the alerts do, and never by depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cronledger.core.snapshot import DriftFacts, LedgerSnapshot, QueuedState, QueueFacts

EXPIRED_LEASE_MAX = timedelta(minutes=5)


class Kind(StrEnum):
    SIDECAR = "sidecar"
    SCHEDULE = "schedule"
    QUEUE = "queue"


class Verdict(StrEnum):
    """The worst that is true, worst first. The last two are not wrong."""

    SILENT = "silent"
    MISSING = "missing"
    OVERDUE = "overdue"
    BEHIND = "behind"
    LEASE_EXPIRED = "lease expired"
    ORPHANED = "orphaned"
    DEAD = "dead"
    BUDGET_SPENT = "budget spent"
    UNEXPECTED = "unexpected"
    PAUSED = "paused"
    FINE = "fine"

    @property
    def is_wrong(self) -> bool:
        return self not in (Verdict.PAUSED, Verdict.FINE)


@dataclass(frozen=True, slots=True)
class QueueNow:
    """What a snapshot does not say of a queue. Retries: used this minute, denied in the last 15."""

    name: str
    objective: timedelta
    paused_by: str | None
    pause_reason: str | None
    workers: int
    retry_budget: int | None
    retries_used: int
    retries_denied: int


@dataclass(frozen=True, slots=True)
class ScheduleNow:
    """What a schedule of the file, or of the ledger, is measured by; None is not known."""

    name: str
    objective: timedelta | None = None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of everything. `last_tick`: up to when keys were decided on."""

    ledger: LedgerSnapshot
    drift: tuple[DriftFacts, ...]
    schedules: tuple[ScheduleNow, ...]
    queues: tuple[QueueNow, ...]
    last_tick: datetime | None
    workers: int


@dataclass(frozen=True, slots=True)
class Line:
    """One verdict. `since`: when the trouble began; `what` says it in words; `command` is next."""

    kind: Kind
    name: str
    verdict: Verdict
    since: datetime | None = None
    objective: timedelta | None = None
    what: str = ""
    command: str = ""


def lines(reading: Reading, silent_after: timedelta) -> list[Line]:
    """Every verdict, worst first; of the same ones the longest ago, then by name."""
    found = [
        _sidecar(reading.ledger, silent_after),
        *_schedules(reading),
        *_queues(reading),
    ]
    order = list(Verdict)
    now = reading.ledger.taken_at
    return sorted(
        found, key=lambda line: (order.index(line.verdict), line.since or now, line.kind, line.name)
    )


def _sidecar(ledger: LedgerSnapshot, silent_after: timedelta) -> Line:
    last = ledger.last_reconcile
    if last is None:
        return Line(Kind.SIDECAR, "-", Verdict.FINE, what="none has ever reconciled")
    if ledger.taken_at - last <= silent_after:
        return Line(Kind.SIDECAR, "-", Verdict.FINE, objective=silent_after)
    what = "no reconcile has ended since"
    return Line(Kind.SIDECAR, "-", Verdict.SILENT, last, silent_after, what, "cronledger run")


def _schedules(reading: Reading) -> Iterator[Line]:
    drifts = {drift.schedule: drift for drift in reading.drift}
    facts = {found.schedule: found.oldest_unfinished for found in reading.ledger.schedules}
    for schedule in reading.schedules:
        drift = drifts.get(schedule.name, DriftFacts(schedule.name))
        yield _schedule(schedule, drift, facts.get(schedule.name), reading.ledger.taken_at)


def _schedule(
    schedule: ScheduleNow, drift: DriftFacts, unfinished: datetime | None, now: datetime
) -> Line:
    limit = schedule.objective
    overdue = unfinished is not None and limit is not None and now - unfinished > limit
    troubles = (
        (drift.missing > 0, Verdict.MISSING, f"{drift.missing} missing", drift.oldest_missing),
        (overdue, Verdict.OVERDUE, "unfinished beyond its objective", unfinished),
        (drift.orphaned > 0, Verdict.ORPHANED, f"{drift.orphaned} without their job", None),
        (drift.unexpected > 0, Verdict.UNEXPECTED, f"{drift.unexpected} unexpected", None),
        (schedule.paused, Verdict.PAUSED, "paused in the file", None),
    )
    return _line(Kind.SCHEDULE, schedule.name, limit, troubles, "")


def _queues(reading: Reading) -> Iterator[Line]:
    facts: Mapping[str, QueueFacts] = {found.queue: found for found in reading.ledger.queues}
    for queue in reading.queues:
        held = facts.get(queue.name, QueueFacts(queue.name, {}))
        yield _queue(queue, held, reading.ledger.taken_at)


def _queue(queue: QueueNow, held: QueueFacts, now: datetime) -> Line:
    eligible, expired = held.oldest_eligible, held.oldest_expired_lease
    dead = held.jobs.get(QueuedState.DEAD, 0)
    behind = eligible is not None and now - eligible > queue.objective
    pause = f"paused by {queue.paused_by}: {queue.pause_reason}"
    stuck = expired is not None and now - expired > EXPIRED_LEASE_MAX
    waiting = f"{held.jobs.get(QueuedState.ELIGIBLE, 0)} eligible"
    troubles = (
        (behind, Verdict.BEHIND, pause if held.claims_paused else "", eligible),
        (stuck, Verdict.LEASE_EXPIRED, "an expired lease is not taken back", expired),
        (dead > 0, Verdict.DEAD, "", held.oldest_dead_letter),
        (
            queue.retries_denied > 0,
            Verdict.BUDGET_SPENT,
            f"{queue.retries_denied} retries denied in 15 minutes",
            None,
        ),
        (held.claims_paused, Verdict.PAUSED, "" if behind else pause, None),
    )
    counts = (
        f"{waiting}, {held.jobs.get(QueuedState.LEASED, 0)} leased, {dead} dead, "
        f"{queue.workers} worker{'s' * (queue.workers != 1)}"
    )
    return _line(Kind.QUEUE, queue.name, queue.objective, troubles, counts)


def _line(
    kind: Kind,
    name: str,
    objective: timedelta | None,
    troubles: Iterable[tuple[bool, Verdict, str, datetime | None]],
    counts: str,
) -> Line:
    """The line of the worst trouble; the others stand in its words."""
    true = [trouble for trouble in troubles if trouble[0]]
    words = "; ".join(text for text in (*(trouble[2] for trouble in true), counts) if text)
    if not true:
        return Line(kind, name, Verdict.FINE, objective=objective, what=words)
    _, verdict, _, since = true[0]
    return Line(kind, name, verdict, since, objective, words, _command(verdict, name))


def _command(verdict: Verdict, name: str) -> str:
    """What to type first."""
    match verdict:
        case Verdict.MISSING | Verdict.UNEXPECTED | Verdict.ORPHANED | Verdict.OVERDUE:
            return f"cronledger reconcile {name}"
        case Verdict.DEAD:
            return f"cronledger dead list --queue {name}"
        case _:
            return f"cronledger jobs list --queue {name}"
