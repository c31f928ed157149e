"""The ledger in PostgreSQL: versions, what is recorded, and the one write that enqueues."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from psycopg.rows import DictRow

from cronledger.adapters.postgres.session import Session
from cronledger.adapters.postgres.versions import backdate, note
from cronledger.adapters.postgres.zonestore import ZoneStore
from cronledger.core.audit import AuditEntry
from cronledger.core.diff import Stages
from cronledger.core.expected import Owed, Standing
from cronledger.core.instants import Window, from_epoch
from cronledger.core.packed import Packed
from cronledger.core.plan import LeftOut, Reason
from cronledger.core.retention import DayCount
from cronledger.core.schedule import JobSpec, Schedule, Timing, Version
from cronledger.core.spec import from_spec
from cronledger.ports import Decision, Enqueue, Noted, Noting, Span, Unfinished, Zones

# Longer than ten processes need that catch up on the same ten thousand keys one after the other.
LOCK_PATIENCE = timedelta(seconds=30)


class PostgresLedger:
    """Implements `ports.Ledger` on one session. A decision waits for locks for `patience`."""

    def __init__(self, session: Session, patience: timedelta = LOCK_PATIENCE) -> None:
        self._session = session
        self._patience = patience
        # A version's timing never changes once stored, so each is read back once.
        self._timings: dict[tuple[int, int], Timing] = {}
        self._zones = ZoneStore(session)

    def now(self) -> datetime:
        """The database's clock."""
        now: datetime = self._session.run("now")[0]["now"]
        return now

    def note(self, schedules: Iterable[Schedule], noting: Noting) -> Noted:
        """Make the ledger's versions those of `schedules`."""
        return note(self._session, list(schedules), noting)

    def backdate(self, schedule: Schedule, since: datetime, zones: Zones) -> None:
        """Make the versions from `since` on those of the file, whatever they were."""
        backdate(self._session, schedule, since, Noting((), zones, since))

    def standings(self, names: Collection[str] | None = None) -> tuple[Standing, ...]:
        """Every schedule ever loaded (or those named), by name."""
        versions: dict[int, list[Version]] = defaultdict(list)
        heads: dict[int, tuple[str, datetime, datetime | None]] = {}
        rows = self._session.run("standings", {"names": None if names is None else list(names)})
        zones = self._zones.zones((self._timing(row).timezone, row["tzdata"]) for row in rows)
        for row in rows:
            heads[row["id"]] = (row["name"], row["decided_to"], row["pruned_to"])
            versions[row["id"]].append(
                Version(
                    row["number"],
                    row["effective_from"],
                    row["effective_to"],
                    timing := self._timing(row),
                    zones[timing.timezone, row["tzdata"]],
                )
            )
        return tuple(
            Standing(id_, name, decided_to, tuple(versions[id_]), pruned_to)
            for id_, (name, decided_to, pruned_to) in heads.items()
        )

    def _timing(self, row: DictRow) -> Timing:
        version = (row["id"], row["number"])
        if version not in self._timings:
            self._timings[version] = from_spec(row["spec"])
        return self._timings[version]

    def recorded(self, spans: Sequence[Span]) -> Mapping[int, list[int]]:
        """Epochs of the recorded keys."""
        return {row["id"]: row["epochs"] for row in self._session.run("recorded", _windows(spans))}

    def packed(self, spans: Sequence[Span]) -> Iterator[Packed]:
        """The recorded keys of each span, in their order, read while the caller works."""
        return map(Packed.of_array, self._session.arrays("packed", _windows(spans)))

    def left_out(self, spans: Sequence[Span]) -> Mapping[int, list[LeftOut]]:
        """The ranges that touch the windows."""
        found: dict[int, list[LeftOut]] = defaultdict(list)
        for row in self._session.run("left_out", _windows(spans)):
            found[row["schedule_id"]].append(
                LeftOut(row["start_epoch"], row["end_epoch"], Reason(row["reason"]), row["count"])
            )
        return found

    def stages(self, spans: Sequence[Span]) -> Mapping[int, Mapping[int, Stages]]:
        """How far each recorded key came."""
        return _staged(self._session.run("stages", _windows(spans)))

    def notable(
        self, spans: Sequence[Span], graces: Sequence[timedelta]
    ) -> Mapping[int, Mapping[int, Stages]]:
        """As `stages`, without what completed and was recorded within its grace."""
        asked = _windows(spans) | {"graces": list(graces)}
        return _staged(self._session.run("notable", asked))

    def history(self, spans: Sequence[Span]) -> Mapping[int, list[DayCount]]:
        """What is left of occurrences that were dropped."""
        found: dict[int, list[DayCount]] = defaultdict(list)
        for row in self._session.run("history", _windows(spans)):
            found[row["schedule_id"]].append(DayCount(row["day"], row["state"], row["count"]))
        return found

    def unfinished(self, ids: Sequence[int]) -> Mapping[int, Unfinished]:
        """What of these schedules is not finished; only those that have such a job."""
        rows = self._session.run("unfinished", {"ids": list(ids)})
        return {row["schedule_id"]: Unfinished(row["waiting"], row["leased"]) for row in rows}

    def cancel_unfinished(self, schedule_id: int) -> None:
        """Cancel what the schedule has not finished, because a later occurrence is due."""
        self._session.run("cancel_unfinished", {"id": schedule_id})

    def orphaned(self, spans: Sequence[Span]) -> Mapping[int, list[int]]:
        """Epochs of the recorded keys whose job is gone."""
        found: dict[int, list[int]] = defaultdict(list)
        for row in self._session.run("orphaned", _windows(spans)):
            found[row["schedule_id"]].append(row["epoch"])
        return found

    def enqueue_once(
        self, batch: Sequence[Enqueue], via: str, as_of: datetime | None = None
    ) -> Mapping[int, list[int]]:
        """Write what is not there yet; returns the epochs written, by schedule id."""
        written: dict[int, list[int]] = defaultdict(list)
        if batch:
            parameters = {"via": via, "as_of": as_of}
            parameters |= _keys(batch) | {"jobs": _jobs(batch)}
            for row in self._session.run("enqueue_occurrences", parameters):
                written[row["schedule_id"]].append(row["epoch"])
        return written

    @contextmanager
    def deciding(self, ids: Sequence[int]) -> Iterator[Mapping[int, datetime]]:
        """A transaction in which only we decide on these schedules."""
        with self._session.transaction():
            milliseconds = self._patience // timedelta(milliseconds=1)
            self._session.run("lock_limit", {"milliseconds": milliseconds})
            rows = self._session.run("deciding", {"ids": list(ids)})
            yield {row["id"]: row["decided_to"] for row in rows}

    def decided(self, decisions: Sequence[Decision], now: datetime) -> None:
        """Store what was left out, and how far everything is decided."""
        spans = [(d.schedule_id, span) for d in decisions for span in d.left_out]
        if spans:
            self._session.run(
                "leave_out",
                {
                    "ids": [id_ for id_, _ in spans],
                    "starts": [from_epoch(span.start) for _, span in spans],
                    "ends": [from_epoch(span.end) for _, span in spans],
                    "reasons": [str(span.reason) for _, span in spans],
                    "counts": [span.count for _, span in spans],
                },
            )
        self._session.run(
            "decided",
            {
                "ids": [d.schedule_id for d in decisions],
                "decided_to": now,
                "came_due": [d.came_due for d in decisions],
            },
        )

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A transaction."""
        with self._session.transaction():
            yield

    def audit(self, entry: AuditEntry) -> None:
        """Record a manual change, in the transaction that makes it."""
        self._session.run(
            "audit",
            {
                "actor": entry.by.actor,
                "reason": entry.by.reason,
                "action": entry.action,
                "subject": entry.subject,
                "detail": json.dumps(entry.detail),
            },
        )

    def enqueue_by_hand(
        self, schedule_id: int, key: str, job: JobSpec, headers: Mapping[str, str] | None = None
    ) -> int:
        """One job of a schedule outside its occurrences; returns the job's id."""
        parameters = {
            "schedule_id": schedule_id,
            "key": key,
            "queue": job.queue,
            "kind": job.kind,
            "payload": json.dumps(job.payload),
            "priority": job.priority,
            "max_attempts": job.max_attempts,
            "timeout": job.timeout,
            "schema_version": job.schema_version,
            "tenant": job.tenant,
            "headers": None if headers is None else json.dumps(headers),
        }
        return int(self._session.run("enqueue_by_hand", parameters)[0]["job_id"])

    def reconciled(self) -> None:
        """Note that a reconcile over every schedule has just completed."""
        self._session.run("reconciled")


def _staged(rows: Iterable[DictRow]) -> Mapping[int, Mapping[int, Stages]]:
    found: dict[int, dict[int, Stages]] = defaultdict(dict)
    for row in rows:
        schedule_id, epoch = row.pop("schedule_id"), row.pop("epoch")
        found[schedule_id][epoch] = Stages(**row)
    return found


def _windows(spans: Sequence[Span]) -> dict[str, Any]:
    windows: list[Window] = [window for _, window in spans]
    return {
        "ids": [id_ for id_, _ in spans],
        "starts": [window.start for window in windows],
        "ends": [window.end for window in windows],
    }


def _keys(batch: Sequence[Enqueue]) -> dict[str, Any]:
    """The occurrences of a batch as columns."""
    rows: list[tuple[int, Owed]] = [
        (item.schedule_id, owed) for item in batch for owed in item.owed
    ]
    found = [owed.occurrence for _, owed in rows]
    return {
        "schedule_ids": [id_ for id_, _ in rows],
        "versions": [owed.version for _, owed in rows],
        "logical_times": [occurrence.logical_time for occurrence in found],
        "run_ats": [at for item in batch for at in _starts(item)],
        "utc_offsets": [occurrence.offset for occurrence in found],
        "folds": [bool(occurrence.fold) for occurrence in found],
        "moved": [occurrence.moved for occurrence in found],
        "collapsed": [occurrence.collapsed for occurrence in found],
    }


def _starts(item: Enqueue) -> Sequence[datetime]:
    if item.run_ats:
        assert len(item.run_ats) == len(item.owed)
        return item.run_ats
    return [owed.occurrence.logical_time for owed in item.owed]


def _jobs(batch: Sequence[Enqueue]) -> str:
    """What the occurrences of each schedule of a batch become, as JSON."""
    return json.dumps(
        [{"id": item.schedule_id, "headers": item.headers} | _job(item.job) for item in batch]
    )


def _job(job: JobSpec) -> dict[str, Any]:
    timeout = None if job.timeout is None else f"{job.timeout.total_seconds()} s"
    return asdict(job) | {"timeout": timeout}
