"""Numbered migrations: which are applied, which are pending, and applying them.

Each runs in a transaction of its own under a lock. One that was changed after it was applied, or
a database newer than this program, stops everything.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

from cronledger.adapters.postgres.session import Session
from cronledger.errors import RefusedError, StoreError

_BOOTSTRAP = """
create schema if not exists cronledger;
create table if not exists cronledger.migration (
  number     int primary key,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default statement_timestamp()
);
"""
_LOCK = "select pg_advisory_xact_lock(hashtext('cronledger migrate'))"
_APPLIED = "select number, checksum from cronledger.migration order by number"
_EXISTS = "select to_regclass('cronledger.migration') is not null as found"
_RECORD = (
    "insert into cronledger.migration (number, name, checksum)"
    " values (%(number)s, %(name)s, %(checksum)s)"
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of migrations/. `checksum` is the SHA-256 of its text in hex."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def script(self) -> str:
        """The text for those who apply it by hand, with the row that records it."""
        return (
            f"begin;\n{self.text}\n"
            "insert into cronledger.migration (number, name, checksum)\n"
            f"values ({self.number}, '{self.name}', '{self.checksum}');\ncommit;\n"
        )


def bootstrap_script() -> str:
    """The text that must run before the first migration, for those who apply by hand."""
    return _BOOTSTRAP


def available() -> list[Migration]:
    """The migrations that this program ships, in order."""
    folder = resources.files(__package__).joinpath("migrations")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [
        Migration(int(name[:4]), name[:-4], folder.joinpath(name).read_text("utf-8"))
        for name in names
    ]


def pending(session: Session) -> list[Migration]:
    """Those not applied yet. Raises RefusedError if what is applied is not what we ship."""
    if not session.script(_EXISTS)[0]["found"]:
        return available()
    applied = {row["number"]: row["checksum"] for row in session.script(_APPLIED)}
    ours = {migration.number: migration for migration in available()}
    for number, checksum in applied.items():
        if number not in ours:
            raise RefusedError(
                f"the database has migration {number:04d}, which this program does not know; "
                "install the cronledger that applied it, or a newer one"
            )
        if ours[number].checksum != checksum:
            raise RefusedError(
                f"migration {ours[number].name} was changed after it was applied; "
                "install the cronledger that applied it"
            )
    return [migration for number, migration in ours.items() if number not in applied]


def migrate(session: Session) -> list[Migration]:
    """Apply what is pending; returns it. Safe to run from many processes at once."""
    with session.transaction():
        session.script(_LOCK)
        if not session.script(_EXISTS)[0]["found"]:
            session.script(_BOOTSTRAP)
    return [migration for migration in pending(session) if _apply(session, migration)]


def _apply(session: Session, migration: Migration) -> bool:
    try:
        with session.transaction():
            session.script(_LOCK)
            if migration.number not in {m.number for m in pending(session)}:
                return False  # another process applied it while we waited
            session.script(migration.text)
            session.script(
                _RECORD,
                {
                    "number": migration.number,
                    "name": migration.name,
                    "checksum": migration.checksum,
                },
            )
    except StoreError as error:
        raise StoreError(f"migration {migration.name}: {error}", error.sqlstate) from error
    return True


def check_rights(session: Session, role: str) -> None:
    """Raises RefusedError with every function that the login may not call and the role may."""
    missing = [row["routine"] for row in session.run("missing_rights", {"role": role})]
    if missing:
        raise RefusedError(
            f"this login may not call {', '.join(missing)}; grant it cronledger_{role}, see "
            "`cronledger export roles`"
        )


def roles_script() -> str:
    """What makes the roles and grants them their rights."""
    return resources.files(__package__).joinpath("roles.sql").read_text("utf-8")


def check(session: Session) -> None:
    """Raises RefusedError unless every migration is applied."""
    waiting = pending(session)
    if waiting:
        names = ", ".join(migration.name for migration in waiting)
        raise RefusedError(
            f"migrations are pending in {session.place()} ({names}); is it the right one? Then run "
            "`cronledger migrate` first"
        )
