"""One run of a schedule by hand: a job of its own, or a key that the schedule owes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from cronledger.core.audit import AuditEntry, By
from cronledger.core.expected import Standing, expected, owed
from cronledger.core.instants import Window, to_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.core.schedule import Schedule
from cronledger.errors import RefusedError
from cronledger.ports import Enqueue, Ledger, Zones


@dataclass(frozen=True, slots=True)
class Triggered:
    """What a run by hand became. `new` is False where the key had been recorded before."""

    key: str
    new: bool


def trigger(schedule: Schedule, unique: str, by: By, ledger: Ledger) -> Triggered:
    """Enqueue a job under the key `<schedule>!<unique>`; it satisfies no owed key."""
    standing = _standing(schedule.id, ledger)
    key = f"{schedule.id}!{unique}"
    with ledger.changing():
        job_id = ledger.enqueue_by_hand(standing.id, key, schedule.job)
        ledger.audit(AuditEntry(by, "trigger", schedule.id, {"key": key, "job_id": job_id}))
    return Triggered(key, new=True)


def trigger_as(
    schedule: Schedule, key: OccurrenceKey, by: By, ledger: Ledger, zones: Zones
) -> Triggered:
    """Record and enqueue an owed key now, before its time if need be; once, as ever."""
    standing = _standing(schedule.id, ledger)
    window = Window(key.logical_time, key.logical_time + timedelta(seconds=1))
    if key.schedule != schedule.id or not expected(standing.versions, window, zones.load):
        raise RefusedError(
            f"{schedule.id} does not owe {key}; `expand` lists what it owes, and without --as the "
            "run gets a key of its own"
        )
    found = tuple(owed(standing.versions, [to_epoch(key.logical_time)], zones.load))
    item = Enqueue(standing.id, schedule.job, found, (ledger.now(),))
    with ledger.changing():
        written = ledger.enqueue_once([item], "manual")
        new = bool(written.get(standing.id))
        if new:
            ledger.audit(AuditEntry(by, "trigger", schedule.id, {"key": str(key)}))
    return Triggered(str(key), new)


def _standing(name: str, ledger: Ledger) -> Standing:
    for standing in ledger.standings([name]):
        return standing
    raise RefusedError(f"{name} was never loaded; `tick` or `run` its file first")
