"""Reconcile in three forms: ours, and the two that come to mind first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psycopg

from cronledger import wiring
from cronledger.core.diff import OccurrenceClass
from cronledger.core.expected import expected
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import Schedule
from cronledger.flows.reconcile import reconcile
from cronledger.ports import Ledger, Zones

NOT_EXISTS = """
    select (select count(*) from owed w where not exists (
              select from cronledger.occurrence o
               where o.schedule_id = w.schedule_id and o.logical_time = w.logical_time)),
           (select count(*) from cronledger.occurrence o
             where o.logical_time >= %(start)s and o.logical_time < %(end)s and not exists (
              select from owed w
               where w.schedule_id = o.schedule_id and w.logical_time = o.logical_time))
"""


@dataclass(frozen=True)
class Asked:
    """What a method works on."""

    dsn: str
    window: Window
    file: Path


@dataclass(frozen=True)
class Ready:
    """A method's surroundings, made before its time begins."""

    schedules: Mapping[str, Schedule]
    ledger: Ledger
    zones: Zones
    dsn: str
    window: Window

    @classmethod
    def of(cls, asked: Asked) -> Ready:
        zones = wiring.zones()
        ledger = wiring.Store(asked.dsn, "bench").ledger()
        ledger.now()
        schedules = wiring.load_file(asked.file, zones).schedules
        return cls(schedules, ledger, zones, asked.dsn, asked.window)


def ours(asked: Ready) -> tuple[int, int]:
    """As the sidecar compares."""
    return _reconciled(asked, ())


def table(asked: Ready) -> tuple[int, int]:
    """As a report reads it that shows no completed keys: with stages, fates and causes."""
    return _reconciled(asked, frozenset(OccurrenceClass) - {OccurrenceClass.COMPLETED})


def _reconciled(asked: Ready, details: Collection[OccurrenceClass]) -> tuple[int, int]:
    absent = unexpected = 0
    for drift in reconcile(
        asked.schedules, asked.ledger, asked.zones, asked.window, details=details
    ):
        absent += len(drift.epochs({OccurrenceClass.MISSING}))
        unexpected += len(drift.epochs({OccurrenceClass.UNEXPECTED}))
    return absent, unexpected


def owed(asked: Ready) -> list[tuple[int, list[int]]]:
    """What each schedule owes."""
    standings = asked.ledger.standings()
    return [(s.id, expected(s.versions, asked.window, asked.zones.load)) for s in standings]


def not_exists(asked: Ready) -> tuple[int, int]:
    """Expected keys copied into a table, and two anti-joins."""
    with psycopg.connect(asked.dsn) as connection:
        connection.execute("set time zone 'UTC'")
        connection.execute("create temp table owed (schedule_id int, logical_time timestamptz)")
        with connection.cursor().copy("copy owed from stdin (format binary)") as copy:
            copy.set_types(["int4", "timestamptz"])
            for schedule_id, epochs in owed(asked):
                for epoch in epochs:
                    copy.write_row((schedule_id, from_epoch(epoch)))
        connection.execute("analyze owed")
        row = connection.execute(NOT_EXISTS, bounds(asked.window)).fetchone()
        assert row is not None
        return row[0], row[1]


def sets(asked: Ready) -> tuple[int, int]:
    """Both sides as sets of Python."""
    known = {(id_, epoch) for id_, epochs in owed(asked) for epoch in epochs}
    with psycopg.connect(asked.dsn) as connection:
        rows = connection.execute(
            "select schedule_id, extract(epoch from logical_time)::bigint"
            " from cronledger.occurrence"
            " where logical_time >= %(start)s and logical_time < %(end)s",
            bounds(asked.window),
        )
        recorded = set(rows.fetchall())
    return len(known - recorded), len(recorded - known)


METHODS = {"ours": ours, "ours, for a table": table, "NOT EXISTS": not_exists, "Python sets": sets}


def bounds(window: Window) -> dict[str, datetime]:
    """A window as parameters."""
    return {"start": window.start, "end": window.end}
