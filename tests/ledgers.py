"""A real ledger at a moment of the test's choosing, and schedule files as text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cronledger.adapters.config.load import parse
from cronledger.adapters.postgres.ledger import LOCK_PATIENCE, PostgresLedger
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.events import Event
from cronledger.core.instants import Window, format_instant, from_epoch, parse_instant
from cronledger.core.schedule import Schedule, ScheduleFile
from cronledger.flows.reconcile import Details, Drift, reconcile
from cronledger.flows.tick import Moment, Ticked, note, tick
from cronledger.ports import Noted


def time(text: str) -> datetime:
    """The UTC instant that `text` spells; without a zone it is UTC."""
    parsed = parse_instant(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def window(start: str, end: str) -> Window:
    return Window(time(start), time(end))


def file_text(*lines: str, queues: str = "") -> str:
    """A schedule file; each line is `name: settings`, a flow mapping without its braces."""
    schedules = []
    for line in lines:
        name, _, settings = line.partition(": ")
        job = "" if "job:" in settings else ", job: {kind: k}"
        schedules.append(f"  {name}: {{{settings}{job}}}\n")
    return f"version: 1\n{queues}schedules:\n" + "".join(schedules)


def file_of(*lines: str, queues: str = "") -> ScheduleFile:
    return parse(file_text(*lines, queues=queues).encode(), "schedules.yaml", PinnedZones())


def schedule_of(line: str) -> Schedule:
    return next(iter(file_of(line).schedules.values()))


@dataclass
class World:
    """A ledger whose database believes that it is `now`."""

    session: Session
    zones: PinnedZones
    events: list[Event] = field(default_factory=list)
    patience: timedelta = LOCK_PATIENCE
    file: ScheduleFile = field(default_factory=lambda: file_of("none: cron: '0 0 1 1 *'"))

    @property
    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.session, self.patience)

    @property
    def now(self) -> datetime:
        return self.ledger.now()

    def at(self, text: str | datetime) -> World:
        """Make it this moment in the database."""
        moment = time(text) if isinstance(text, str) else text
        self.sql("select set_config('cronledger.test_now', %(now)s, false)", now=moment.isoformat())
        return self

    def load(self, *lines: str, at: str | None = None, queues: str = "") -> Noted:
        """Note a file of these schedules."""
        self.file = file_of(*lines, queues=queues)
        moment = time(at) if at else None
        return note(self.file, self.ledger, self.zones, self.events.append, moment)

    def tick(
        self, *, as_of: str | None = None, every: timedelta = timedelta(0)
    ) -> dict[str, Ticked]:
        """One pass over the file, by schedule."""
        chosen = time(as_of) if as_of else None
        moment = Moment(chosen or self.now, chosen, every)
        done = tick(self.file.schedules, self.ledger, self.zones, self.events.append, moment)
        return {ticked.schedule: ticked for ticked in done}

    def enqueued(self, *, as_of: str | None = None, every: timedelta = timedelta(0)) -> list[str]:
        """The keys that one pass enqueued."""
        return sorted(
            f"{name}:{format_instant(occurrence.logical_time)}"
            for name, ticked in self.tick(as_of=as_of, every=every).items()
            for occurrence in ticked.enqueued
        )

    def drifts(
        self,
        start: str,
        end: str,
        *,
        details: Details = True,
        only: Collection[str] | None = None,
    ) -> list[Drift]:
        return list(
            reconcile(
                self.file.schedules,
                self.ledger,
                self.zones,
                window(start, end),
                only=only,
                details=details,
            )
        )

    def classes(self, start: str, end: str, *, details: bool = True) -> dict[str, str]:
        """Key to class (with its reason), as reconcile finds them."""
        return {
            f"{drift.schedule}:{format_instant(from_epoch(finding.epoch))}": " ".join(
                str(word) for word in (finding.occurrence_class, finding.reason) if word
            )
            for drift in self.drifts(start, end, details=details)
            for finding in drift.findings
        }

    def recorded(self) -> list[str]:
        """Every key of the ledger, in order."""
        return [row["key"] for row in self.sql("select key from cronledger.occurrences order by 1")]

    def left_out(self) -> list[tuple[str, str, str, str, int]]:
        """Schedule, first instant, first instant after, reason, count."""
        rows = self.sql(
            "select s.name, l.from_time, l.to_time, l.reason, l.count from cronledger.left_out l"
            " join cronledger.schedule s on s.id = l.schedule_id order by 1, 2, 4"
        )
        return [
            (
                row["name"],
                format_instant(row["from_time"]),
                format_instant(row["to_time"]),
                row["reason"],
                row["count"],
            )
            for row in rows
        ]

    def lose(self, *keys: str) -> None:
        """Delete occurrences and their jobs, as a bad restore would."""
        self.sql(
            """
            with gone as (
              delete from cronledger.occurrence o using cronledger.occurrences v
               where v.job_id = o.job_id and v.key = any (%(keys)s) returning o.job_id),
            job as (delete from cronledger.job j using gone where j.id = gone.job_id),
            deferred as (delete from cronledger.deferred d using gone where d.job_id = gone.job_id)
            delete from cronledger.ready r using gone where r.job_id = gone.job_id
            """,
            keys=list(keys),
        )

    def sql(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        return self.session.script(text, parameters or None)

    def counted(self, metric: str) -> int:
        """A durable counter, over all its labels."""
        rows = self.sql(
            "select coalesce(sum(n), 0)::bigint as n from (select * from cronledger.stat"
            " union all select * from cronledger.stat_delta) s where metric = %(metric)s",
            metric=metric,
        )
        total: int = rows[0]["n"]
        return total


def minutes(name: str, start: str, count: int, step: int = 60) -> list[str]:
    """`count` keys of `name` from `start` on, `step` seconds apart."""
    first = time(start)
    return [f"{name}:{format_instant(first + timedelta(seconds=step * i))}" for i in range(count)]
