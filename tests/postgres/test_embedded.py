"""The PostgreSQL of our own: it survives kills, is shared, and stops with its last user."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from commands import environment, process
from cronledger.adapters.postgres.embedded import EmbeddedServer, default_folder

HOLDER = """
import sys
from pathlib import Path
from cronledger.adapters.postgres.embedded import EmbeddedServer
print(EmbeddedServer(Path(sys.argv[1])).start(), flush=True)
sys.stdin.readline()
"""
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, because a socket lies in it; removed with whatever still runs over it."""
    made = Path(tempfile.mkdtemp(prefix="cl-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    pid = postmaster(made)
    if pid is not None:
        os.kill(pid, signal.SIGQUIT)
    shutil.rmtree(made, ignore_errors=True)


def postmaster(folder: Path) -> int | None:
    """The pid of the server over `folder`, if one runs."""
    try:
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, 0)
    except (OSError, IndexError):
        return None
    return pid


def ask(dsn: str, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def hold(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Another process that uses the server, and the address that it was given."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert holder.stdout is not None
    return holder, holder.stdout.readline().strip()


def let_go(holder: subprocess.Popen[str]) -> None:
    holder.communicate("\n", timeout=60)
    assert holder.returncode == 0


def test_data_survive_a_restart(folder: Path) -> None:
    server = EmbeddedServer(folder)
    ask(server.start(), "create table kept as select 42 as x")
    server.leave()
    assert postmaster(folder) is None
    server.leave()  # twice is once
    again = EmbeddedServer(folder)
    assert ask(again.start(), "select x from kept") == [(42,)]
    again.leave()


def test_it_stops_with_its_last_user_only(folder: Path) -> None:
    server = EmbeddedServer(folder)
    dsn = server.start()
    holder, theirs = hold(folder)
    assert theirs == dsn
    pid = postmaster(folder)
    server.leave()
    assert postmaster(folder) == pid is not None
    assert ask(dsn, "select 1") == [(1,)]
    let_go(holder)
    assert postmaster(folder) is None


def test_a_user_that_was_killed_neither_holds_nor_stops_it(folder: Path) -> None:
    holder, dsn = hold(folder)
    holder.kill()
    holder.communicate()
    server = EmbeddedServer(folder)
    assert server.start() == dsn
    assert ask(dsn, "select 1") == [(1,)]
    server.leave()
    assert postmaster(folder) is None


def test_a_server_that_was_killed_recovers(folder: Path) -> None:
    server = EmbeddedServer(folder)
    ask(server.start(), "create table kept as select 42 as x")
    pid = postmaster(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while postmaster(folder) is not None:
        pass
    again = EmbeddedServer(folder)
    assert ask(again.start(), "select x from kept") == [(42,)]
    again.leave()
    server.leave()


def test_it_listens_on_no_network_and_speaks_utf8(folder: Path) -> None:
    server = EmbeddedServer(folder)
    dsn = server.start()
    assert ask(dsn, "select current_setting('listen_addresses')") == [("",)]
    assert ask(dsn, "select current_setting('server_encoding')") == [("UTF8",)]
    server.leave()


def test_a_deep_folder_gets_a_socket_elsewhere(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)
    server = EmbeddedServer(deep)
    assert ask(server.start(), "select 1") == [(1,)]
    server.leave()


def test_starting_that_was_cut_off_begins_anew(folder: Path) -> None:
    (folder / "data.new").mkdir()
    (folder / "data.new" / "rubbish").write_text("x")
    server = EmbeddedServer(folder)
    assert ask(server.start(), "select 1") == [(1,)]
    server.leave()


def as_nobody(act: Callable[[], str]) -> str:
    """What `act` says in a process of an ordinary user; an error by its name and message.

    A fork and no new program: the interpreter may lie where only root can read it.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = act()
        except BaseException as error:  # the parent judges all of them
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_starts_it_as_well(folder: Path) -> None:
    os.chown(folder, NOBODY, NOBODY)
    state = folder / "state"

    def use() -> str:
        server = EmbeddedServer(state)
        answer = str(ask(server.start(), "select 42"))
        server.leave()
        return answer

    assert as_nobody(use) == "[(42,)]"
    assert (state / "data").stat().st_uid == NOBODY
    assert postmaster(state) is None


def test_the_pid_of_a_lost_server_may_be_another_process_by_now(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)

    def use() -> str:
        server = EmbeddedServer(folder)
        server.start()
        server.leave()
        with subprocess.Popen(["/bin/sleep", "600"]) as stranger:
            (folder / "data" / "postmaster.pid").write_text(f"{stranger.pid}\n{folder}/data\n")
            try:
                answer = str(ask(server.start(), "select 42"))
                server.leave()
            finally:
                stranger.kill()
        return answer

    assert (as_nobody(use) if os.geteuid() == 0 else use()) == "[(42,)]"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_that_cannot_be_made_is_refused_with_a_way_out(folder: Path) -> None:
    said = as_nobody(EmbeddedServer(folder / "state").start)
    assert said.startswith("RefusedError: cannot make the data folder")
    assert "CRONLEDGER_STATE_DIR" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_of_somebody_else_is_refused_with_a_way_out(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.start()
    server.leave()
    said = as_nobody(lambda: EmbeddedServer(folder).start())
    assert said.startswith("RefusedError: ")
    assert "CRONLEDGER_STATE_DIR" in said


def test_a_command_starts_it_migrates_it_and_stops_it(folder: Path) -> None:
    answer = process(
        "jobs", "list", "-o", "json", "--database", "embedded", CRONLEDGER_STATE_DIR=str(folder)
    )
    assert answer.code == 0, answer.err
    assert answer.json["jobs"] == []
    assert postmaster(folder) is None


def test_the_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CRONLEDGER_STATE_DIR", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "cronledger" / "embedded"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_folder() == Path("/var/lib/cronledger/embedded")
    monkeypatch.setenv("CRONLEDGER_STATE_DIR", "/elsewhere")
    assert default_folder() == Path("/elsewhere")
