"""From options to ready objects. This, `processes` and `observing` alone import adapters.

Adapters are imported when they are needed, so that `--help` and `next` do not load a database
driver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cronledger.errors import ConfigError
from cronledger.observing import telemetry

if TYPE_CHECKING:
    from cronledger.adapters.postgres.embedded import EmbeddedServer
    from cronledger.adapters.postgres.session import Session
    from cronledger.adapters.second_opinion import SecondOpinion
    from cronledger.core.schedule import ScheduleFile
    from cronledger.ports import (
        ChunkSets,
        Clock,
        Controls,
        Effects,
        Jobs,
        LeasedQueue,
        Ledger,
        Measured,
        Outputs,
        Prune,
        Zones,
    )
    from cronledger.worker.wakeups import WakeUps

EMBEDDED = "embedded"

# Line and column of the value at a path below a schedule, at a character of its text.
PlaceOf = Callable[[str, Sequence[str], int], tuple[int, int]]


def version() -> str:
    """The installed version of cronledger."""
    return metadata.version("cronledger")


def zones() -> Zones:
    """The pinned zone data."""
    from cronledger.adapters.zones import PinnedZones

    return PinnedZones()


def clock() -> Clock:
    """This machine's clock."""
    from cronledger.adapters.clock import SystemClock

    return SystemClock()


def load_file(path: Path, zone_data: Zones) -> ScheduleFile:
    """The schedule file, validated. Raises ConfigError with every problem."""
    from cronledger.adapters.config.source import read_bytes

    data = read_bytes(path)  # a giant is refused before the validator is even imported
    from cronledger.adapters.config.load import parse

    return parse(data, str(path), zone_data)


def load_placed(path: Path, zone_data: Zones) -> tuple[ScheduleFile, PlaceOf]:
    """As `load_file`, with what tells where a key of a schedule stands."""
    from cronledger.adapters.config.source import read_bytes

    data = read_bytes(path)
    from cronledger.adapters.config.load import parse_placed

    file, places = parse_placed(data, str(path), zone_data)
    return file, places.of


def second_opinion() -> SecondOpinion:
    """What croniter says of schedules, on the same zone data as ours."""
    from cronledger.adapters.second_opinion import SecondOpinion
    from cronledger.adapters.zones import PinnedZones

    return SecondOpinion(PinnedZones().data)


def file_schema() -> str:
    """The JSON Schema of the schedule file, as text."""
    from cronledger.adapters.config.schema import schema_text
    from cronledger.adapters.zones import PinnedZones

    return schema_text(PinnedZones().names())


def dashboards() -> Mapping[str, str]:
    """The dashboards for Grafana: each file's text, by its name."""
    from cronledger.adapters.observe.boards import boards

    return boards()


def alertmanager(teams: Sequence[str]) -> str:
    """Routes and inhibitions for Alertmanager, with receivers for each of the teams."""
    from cronledger.adapters.observe.alertmanager import alertmanager

    return alertmanager(teams)


def grafana_alerts(text: str, name: str) -> str:
    """The alert rules in `text`, read from the file `name`, as Grafana provisions them."""
    from cronledger.adapters.observe.grafana_alerts import grafana_alerts

    return grafana_alerts(text, name)


def roles_script() -> str:
    """The roles of the database and their rights, as SQL."""
    from cronledger.adapters.postgres.migrate import roles_script

    return roles_script()


def sample_file() -> str:
    """The commented file that `init` writes."""
    from cronledger.adapters.config.load import sample

    return sample()


def import_file(origin: str, path: str, timezone: str | None) -> tuple[str, dict[str, Any]]:
    """The schedule file made from a source of that origin, and the report. Raises ConfigError.

    `-` as the path is standard input.
    """
    from cronledger.adapters.imports import convert, files, report

    asked = convert.Asked(convert.origin(origin), path, timezone, files.beside(path))
    made = convert.convert(files.read_source(path), asked, zones())
    return made.text, report.report(made)


@dataclass(slots=True)
class Store:
    """A database, by address. Sessions are made on demand and belong to one thread each."""

    dsn: str
    purpose: str
    server: EmbeddedServer | None = None
    _sessions: list[Session] = field(default_factory=list)

    def session(self) -> Session:
        """A new session; its connection is made when it is first used."""
        from cronledger.adapters.postgres.session import Session

        made = Session(self.dsn, f"cronledger/{self.purpose}")
        self._sessions.append(made)
        return made

    def ledger(self) -> Ledger:
        """The ledger on a session of its own."""
        from cronledger.adapters.postgres.ledger import PostgresLedger

        return telemetry().ledger(PostgresLedger(self.session()))

    def queue(self) -> LeasedQueue:
        """The lease protocol on a session of its own."""
        from cronledger.adapters.postgres.queue import PostgresQueue

        return PostgresQueue(self.session())

    def wakeups(self) -> WakeUps:
        """What wakes an idle worker, on a session of its own."""
        from cronledger.adapters.postgres.wakeups import PostgresWakeUps

        return PostgresWakeUps(self.session())

    def effects(self) -> Effects:
        """Receipts of effects; sessions of its own."""
        import psycopg

        from cronledger.adapters.postgres.effects import PostgresEffects

        session = self.session()
        return PostgresEffects(session, lambda: psycopg.connect(session.dsn))

    def outputs(self) -> Outputs:
        """What commands wrote, on a session of its own that threads take turns with."""
        from cronledger.adapters.postgres.queue import PostgresQueue

        return PostgresQueue(self.session())

    def jobs(self) -> Jobs:
        """Jobs as people look at them, on a session of its own."""
        from cronledger.adapters.postgres.queue import PostgresQueue

        return PostgresQueue(self.session())

    def controls(self) -> Controls:
        """What operators do by hand, on a session of its own."""
        from cronledger.adapters.postgres.controls import PostgresControls

        return PostgresControls(self.session())

    def chunk_sets(self) -> ChunkSets:
        """Sets of chunks as people look at them, on a session of its own."""
        from cronledger.adapters.postgres.chunks import PostgresChunkSets

        return PostgresChunkSets(self.session())

    def prune(self) -> Prune:
        """Retention, on a session of its own."""
        from cronledger.adapters.postgres.prune import PostgresPrune

        return PostgresPrune(self.session())

    def measured(self) -> Measured:
        """What is measured, on a session of its own."""
        from cronledger.adapters.postgres.snapshot import PostgresMeasured

        return PostgresMeasured(self.session())

    def migrate(self) -> list[str]:
        """Apply pending migrations; returns their names."""
        from cronledger.adapters.postgres import migrate

        return [migration.name for migration in migrate.migrate(self.session())]

    def pending(self) -> list[tuple[str, str]]:
        """Pending migrations: name, and the script for those who apply by hand."""
        from cronledger.adapters.postgres import migrate

        waiting = migrate.pending(self.session())
        scripts = [(migration.name, migration.script()) for migration in waiting]
        if scripts and waiting[0].number == 1:
            scripts[0] = (scripts[0][0], migrate.bootstrap_script() + scripts[0][1])
        return scripts

    def check(self) -> None:
        """Raises RefusedError unless every migration is applied."""
        from cronledger.adapters.postgres import migrate

        migrate.check(self.session())

    def check_rights(self, role: str) -> None:
        """Raises RefusedError unless the login may do what the role may."""
        from cronledger.adapters.postgres import migrate

        migrate.check_rights(self.session(), role)

    def close(self) -> None:
        """Close every session; the embedded server stops with its last user."""
        for session in self._sessions:
            session.close()
        if self.server is not None:
            self.server.leave()


def store(database: str | None, purpose: str) -> Store:
    """The database that `--database` names, else the environment; embedded is started, migrated.

    Order: --database, CRONLEDGER_DATABASE_URL, DATABASE_URL, libpq's own variables.
    """
    environment = os.environ
    address = (
        database
        or environment.get("CRONLEDGER_DATABASE_URL")
        or environment.get("DATABASE_URL")
        or ""
    )
    scheme, separator, _ = address.partition("://")
    if separator and not scheme.startswith("postgres"):
        raise ConfigError(f"--database: {scheme}:// is no PostgreSQL; write postgresql://...")
    if address != EMBEDDED:
        return Store(address, purpose)
    from cronledger.adapters.postgres.embedded import default_folder

    return embedded(default_folder(), purpose)


def embedded(folder: Path, purpose: str) -> Store:
    """The embedded PostgreSQL over `folder`, started and migrated."""
    from cronledger.adapters.postgres.embedded import EmbeddedServer

    server = EmbeddedServer(folder)
    made = Store(server.start(), purpose, server)
    made.migrate()
    return made
