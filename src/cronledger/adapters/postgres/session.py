"""One connection: made when first needed, made again after it was lost, used by one thread.

Statements are files in sql/, one each; a method names the file.
"""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from importlib import resources
from json import JSONDecoder
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import Format
from psycopg.rows import DictRow, args_row, dict_row, scalar_row
from psycopg.types.json import set_json_loads

from cronledger.errors import RefusedError, StoreError

CONNECT_TIMEOUT_SECONDS = 10
NOT_CONNECTED = "08001"
_DIALECT = re.compile(r"^(postgres|postgresql)(\+\w+)?://")
# Whatever the role or the database prefers: instants come back in UTC, where arithmetic on them is
# elapsed time, and in the form that the driver reads.
_OUR_HABITS = "set timezone to 'UTC'; set datestyle to 'ISO'; set intervalstyle to 'postgres'"
_DECODER = JSONDecoder()
Made = TypeVar("Made")


class _AsSent(Loader):
    """Leaves a value as the bytes that the server sends for it."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def _instants_oid(adapters: AdaptersMap) -> int:
    found = adapters.types["timestamptz"]
    return found.array_oid


def _read_json(data: str | bytes) -> Any:
    # It is UTF-8 and nothing else: not guessing halves the time of a small payload.
    return _DECODER.decode(data if isinstance(data, str) else data.decode())


@cache
def statement(name: str) -> sql.SQL:
    """The text of sql/<name>.sql."""
    text = resources.files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")
    return sql.SQL(text)  # a file of ours is as literal as it gets


class Session:
    """A lazily made autocommit connection to `dsn` (URL, key=value, or "" for libpq's own)."""

    def __init__(self, dsn: str, application: str, settings: Mapping[str, str] | None = None):
        self._dsn = _DIALECT.sub("postgresql://", dsn)
        self._application = application
        self._options = " ".join(f"-c {key}={value}" for key, value in (settings or {}).items())
        self._connection: psycopg.Connection[DictRow] | None = None

    @property
    def dsn(self) -> str:
        """What libpq is given; it may hold a password."""
        return self._dsn

    def run(
        self, name: str, parameters: Mapping[str, Any] | None = None, *, binary: bool = False
    ) -> list[DictRow]:
        """Run sql/<name>.sql and return its rows. Raises StoreError.

        `binary`: values come as the server has them; long arrays are read in a third of the time.
        """
        with self._guard():
            cursor = self._open().execute(statement(name), parameters or {}, binary=binary)
            return cursor.fetchall() if cursor.description else []

    def build(
        self, name: str, make: Callable[..., Made], parameters: Mapping[str, Any]
    ) -> list[Made]:
        """Run sql/<name>.sql and call `make` with the columns of each row. Raises StoreError."""
        with self._guard():
            cursor = self._open().cursor(row_factory=args_row(make))
            return cursor.execute(statement(name), parameters).fetchall()

    def arrays(self, name: str, parameters: Mapping[str, Any]) -> Iterator[bytes]:
        """Run sql/<name>.sql, which selects one array of instants, and give each as it is sent.

        Rows are read while they are asked for; nothing else may run meanwhile. Raises StoreError.
        """
        with self._guard():
            cursor = self._open().cursor(row_factory=scalar_row, binary=True)
            cursor.adapters.register_loader(_instants_oid(cursor.adapters), _AsSent)
            yield from cursor.stream(statement(name), parameters)

    def script(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[DictRow]:
        """Run trusted text of our own (a migration). Raises StoreError."""
        with self._guard():
            query = sql.SQL(text)
            cursor = self._open().execute(query, parameters)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside commits together or not at all."""
        with self._guard(), self._open().transaction():
            yield

    def place(self) -> str:
        """The database and the host that this session talks to, for messages."""
        with self._guard():
            info = self._open().info
            return f"database {info.dbname} on {info.host or 'this host'}"

    def pid(self) -> int:
        """The server's process, as the other end of the connection names it."""
        with self._guard():
            return self._open().info.backend_pid

    def notified(self, patience: timedelta, ended: socket.socket) -> bool:
        """Whether a notification is there, within `patience` or until `ended` can be read."""
        with self._guard():
            connection = self._open()
            if _heard(connection):
                return True
            waiting = select.poll()
            waiting.register(connection.fileno(), select.POLLIN)
            waiting.register(ended, select.POLLIN)
            waiting.poll(max(patience / timedelta(milliseconds=1), 0))
            return _heard(connection)

    def close(self) -> None:
        """Give the connection back to the server; the next use makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> psycopg.Connection[DictRow]:
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = psycopg.connect(
                self._dsn,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
                # A network that swallows packets is noticed within a minute, not after hours.
                keepalives_idle=30,
                keepalives_interval=10,
                keepalives_count=3,
                tcp_user_timeout=60_000,
                application_name=self._application,
                # A pooler in transaction mode gives each transaction another server session, which
                # does not know what was prepared; the functions behind it keep plans of their own.
                prepare_threshold=None,
                options=self._options or None,
            )
            set_json_loads(_read_json, self._connection)
            self._connection.execute(_OUR_HABITS)
        return self._connection

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
            raise RefusedError(
                "the database has no ledger of this version; run `cronledger migrate` first"
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise RefusedError(
                f"{store_error(error, self._dsn)}; grant this login a role of `cronledger export "
                "roles` that may, or be the owner of the schema"
            ) from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            # A standby, or a primary that was one a moment ago; this session will not see it end.
            self.close()
            raise store_error(error, self._dsn) from error
        except psycopg.Error as error:
            raise store_error(error, self._dsn) from error


def _heard(connection: psycopg.Connection[Any]) -> bool:
    """Whether a notification has arrived; those that have are gone with it."""
    return bool(list(connection.notifies(timeout=0)))


def store_error(error: psycopg.Error, dsn: str) -> StoreError:
    """What happened, in one line, without any part of the password."""
    said = error.diag.message_primary or str(error) or type(error).__name__
    line = " ".join(said.split())
    for secret in _secrets(dsn):
        line = line.replace(secret, "***")
    # libpq gives no SQLSTATE for a connection that was not made, whatever the reason.
    lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    return StoreError(f"database: {line}", NOT_CONNECTED if lost else error.sqlstate or "")


def _secrets(dsn: str) -> list[str]:
    """The password, and what a wrongly quoted one may have been cut into."""
    found = re.findall(r"password\s*=\s*(.*?)(?=\s+\w+\s*=|$)", dsn)
    found += [word for value in found for word in value.split()]
    _, _, rest = dsn.partition("://")
    userinfo, at, _ = rest.rpartition("@")
    if at:
        found += [userinfo.partition(":")[2], *re.split(r"[@/:?]", userinfo)[1:]]
    bare = (part.strip("'") for part in found)
    return sorted((part for part in bare if len(part) >= 3), key=len, reverse=True)
