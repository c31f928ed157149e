"""Backfill: fill exactly the missing keys of a window, through the same enqueue as a tick.

A person orders it, with a reason; twice is once, because the keys are the ordinary ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cronledger.core.audit import AuditEntry, By
from cronledger.core.diff import OccurrenceClass
from cronledger.core.events import Enqueued
from cronledger.core.expected import Standing, owed
from cronledger.core.instants import from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.core.schedule import Schedule, job_of, known_as
from cronledger.flows.reconcile import Drift
from cronledger.ports import Enqueue, Ledger, Observe, Zones

# Keys written in one transaction, so that an interrupted backfill keeps what it has done.
CHUNK = 500


@dataclass(frozen=True, slots=True)
class Filling:
    """The keys of one schedule that a backfill would write, ascending."""

    schedule: Schedule
    standing: Standing
    epochs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What to fill, oldest first within each schedule.

    `left`: keys that the limit leaves out. `unknown`: schedules with keys to fill that the file
    does not have, or that another scheduler manages; they are left alone.
    """

    fillings: tuple[Filling, ...]
    left: int
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(len(filling.epochs) for filling in self.fillings)


@dataclass(frozen=True, slots=True)
class Filled:
    """What was written for one schedule; `duplicates` were written by others meanwhile."""

    schedule: str
    epochs: tuple[int, ...]
    duplicates: int


def order(
    drifts: Iterable[Drift],
    schedules: Mapping[str, Schedule],
    include: Collection[OccurrenceClass],
    limit: int | None,
) -> Order:
    """The keys in any class of `include`, at most `limit` over all schedules."""
    ours = known_as(schedules)
    room = limit
    fillings: list[Filling] = []
    unknown: list[str] = []
    left = 0
    for drift in drifts:
        wanted = drift.epochs(include)
        schedule = ours.get(drift.schedule)
        if schedule is None or schedule.managed_by is not None:
            unknown += [drift.schedule] if wanted else []
            continue
        taken = wanted if room is None else wanted[:room]
        left += len(wanted) - len(taken)
        if room is not None:
            room -= len(taken)
        if taken:
            fillings.append(Filling(schedule, drift.standing, tuple(taken)))
    return Order(tuple(fillings), left, tuple(unknown))


def fill(
    ordered: Order,
    by: By,
    ledger: Ledger,
    zones: Zones,
    observe: Observe,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Filled]:
    """Write the keys, in chunks, each with its audit row in one transaction.

    `progress` hears how many keys each chunk handled.
    """
    done = []
    for filling in ordered.fillings:
        written: list[int] = []
        for start in range(0, len(filling.epochs), CHUNK):
            chunk = filling.epochs[start : start + CHUNK]
            written += _write(filling, chunk, by, ledger, zones)
            progress(len(chunk))
        duplicates = len(filling.epochs) - len(written)
        observe(Enqueued(filling.standing.name, tuple(written), duplicates))
        done.append(Filled(filling.standing.name, tuple(written), duplicates))
    return done


def _write(
    filling: Filling, chunk: Sequence[int], by: By, ledger: Ledger, zones: Zones
) -> list[int]:
    due = tuple(owed(filling.standing.versions, chunk, zones.load))
    item = Enqueue(filling.standing.id, job_of(filling.schedule), due)
    with ledger.changing():
        written = ledger.enqueue_once([item], "backfill")
        epochs = list(written.get(filling.standing.id, []))
        if epochs:
            keys = [str(OccurrenceKey(filling.standing.name, from_epoch(e))) for e in epochs]
            ledger.audit(AuditEntry(by, "backfill", filling.standing.name, {"keys": keys}))
    return epochs
