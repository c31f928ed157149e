"""What the demo plays: the whole loop on a PostgreSQL of its own, in under a minute.

A schedule file becomes keys, keys become rows, a worker completes them; the sidecar is killed,
reconcile finds the hole, backfill fills it.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from urllib.request import urlopen

from cronledger.cli import render
from cronledger.core.instants import format_instant
from cronledger.errors import CronledgerError
from cronledger.ports import Chosen

if TYPE_CHECKING:
    from cronledger.wiring import Store

PATIENCE_SECONDS = 20
OLDEST = "cronledger_queue_oldest_eligible_timestamp_seconds{"
MISSING = "cronledger_schedule_missing_occurrences{"


class DemoError(CronledgerError):
    """The demo did not see what it should have seen."""

    exit_code = 1


def play() -> None:
    """Play it in a folder that goes away at the end. Raises DemoError if it did not come true."""
    from cronledger import wiring

    began = wiring.clock().monotonic()
    # Not in $HOME: the embedded server may run as another user, who must get in.
    folder = Path(tempfile.mkdtemp(prefix="cronledger-demo-"))
    folder.chmod(0o755)
    store = wiring.embedded(folder / "postgres", "demo")
    try:
        _Demo(folder, store).play()
    finally:
        store.close()
        shutil.rmtree(folder, ignore_errors=True)
    took = (wiring.clock().monotonic() - began).total_seconds()
    render.say(f"\nThe demo took {took:.0f} s. Nothing of it is left.")


@dataclass(frozen=True, slots=True)
class _Demo:
    folder: Path
    store: Store

    def play(self) -> None:
        file = self.folder / "schedules.yaml"
        file.write_text(resources.files(__package__).joinpath("demo.yaml").read_text("utf-8"))
        self._title("1. A file says what is owed; no database needed to read it")
        render.say(file.read_text().rstrip())
        self._run("check")
        self._run("next", "-n", "1")
        self._title("2. The sidecar turns it into keys, and each key into one row")
        since = self.store.ledger().now()
        with self._process("run", "--listen", "127.0.0.1:0", *_QUICK) as sidecar:
            metrics = self._metrics_address(sidecar)
            self._until("occurrences are enqueued", lambda: self._count("eligible") >= 8)
            self._run("jobs", "list", "--limit", "4")
            self._title("3. Nobody works: the age of the oldest job stands on /metrics")
            self._scrape(metrics)
            self._say_age(metrics)
            with self._process("work", "--app", "cronledger.cli.demo_app:app"):
                self._title("4. A worker starts and drains the queue")
                self._until("the queue is drained", lambda: self._count("completed") >= 8)
                self._run("jobs", "list", "--limit", "4")
                self._kill_and_repair(sidecar, since)

    def _kill_and_repair(self, sidecar: subprocess.Popen[str], since: datetime) -> None:
        self._title("5. The sidecar is killed (SIGKILL); the clock goes on, and nobody records")
        sidecar.kill()
        sidecar.wait()
        start = ("--from", format_instant(since))
        self._until("keys are missing", lambda: self._quiet("reconcile", *start) == 1)
        self._until("more are", lambda: self._missing(*start) >= 6)
        self._title("6. reconcile names what is missing, and exits 1")
        self._run("reconcile", *start, expected=1)
        self._title("7. backfill fills exactly that: first a dry run, then for good")
        self._run("backfill", *start)
        self._run("backfill", *start, "--apply", "--reason", "demo: the sidecar was killed")
        self._title("8. The sidecar is back; the worker completes what it missed")
        with self._process("run", "--listen", "127.0.0.1:0", *_QUICK) as again:
            metrics = self._metrics_address(again)
            self._until("all is well", lambda: self._quiet("reconcile", *start) == 0)
            self._until("the backlog is done", lambda: self._count("eligible") == 0)
            self._run("reconcile", *start)
            self._until("the metrics say so", lambda: _values(metrics, MISSING) == [0.0] * 3)
            self._scrape(metrics)

    def _title(self, text: str) -> None:
        render.say(f"\n== {text}")

    def _command(self, *words: str) -> list[str]:
        file = [str(self.folder / "schedules.yaml")] if words[0] in _WITH_FILE else []
        return [words[0], *file, *words[1:]]

    def _run(self, *words: str, expected: int = 0) -> None:
        """Run a command as a user would, and show it."""
        command = self._command(*words)
        render.say(f"\n$ {shlex.join(['cronledger', *command])}")
        code = self._call(command, None)
        if code != expected:
            raise DemoError(f"`cronledger {shlex.join(command)}` exited {code}, not {expected}")
        if code:
            render.say(f"(exit {code})")

    def _quiet(self, *words: str) -> int:
        return self._call(self._command(*words), subprocess.DEVNULL)

    def _call(self, command: list[str], output: int | None) -> int:
        return subprocess.run(
            [sys.executable, "-m", "cronledger", *command],
            env=self._environment(),
            stdout=output,
            stderr=output if output is not None else subprocess.STDOUT,
            check=False,
        ).returncode

    def _missing(self, *start: str) -> int:
        words = ("reconcile", *start, "--only", "missing", "-o", "jsonl")
        done = subprocess.run(
            [sys.executable, "-m", "cronledger", *self._command(*words)],
            env=self._environment(),
            stdout=subprocess.PIPE,
            check=False,
        )
        return len(done.stdout.splitlines())

    @contextmanager
    def _process(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A sidecar or a worker; SIGTERM ends it cleanly."""
        command = self._command(*words)
        render.say(f"\n$ {shlex.join(['cronledger', *command])} &")
        process = subprocess.Popen(
            [sys.executable, "-m", "cronledger", *command],
            env=self._environment(),
            stderr=subprocess.PIPE if words[0] == "run" else subprocess.DEVNULL,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=PATIENCE_SECONDS)
            elif process.stderr is not None:
                process.stderr.close()

    def _metrics_address(self, process: subprocess.Popen[str]) -> str:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"http://\S+/metrics", line)
            if found:
                render.say(f"metrics while it runs: {found[0]}")
                return found[0]
        raise DemoError(f"the sidecar ended with {process.wait()} before it served /metrics")

    def _scrape(self, address: str) -> None:
        render.say(f"\n$ curl -s {address} | grep -e oldest_eligible -e missing_occurrences")
        self._until("it was measured", lambda: bool(_values(address, OLDEST)))
        for line in _get(address):
            if line.startswith((OLDEST, MISSING)):
                render.say(line)

    def _say_age(self, address: str) -> None:
        self._until("a job is eligible", lambda: not math.isnan(_values(address, OLDEST)[0]))
        age = self.store.ledger().now().timestamp() - _values(address, OLDEST)[0]
        render.say(f"(a rule subtracts it from time(): the oldest job has waited {age:.0f} s)")

    def _count(self, state: str) -> int:
        return len(self.store.jobs().jobs(Chosen(state=state), 1000))

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until it holds; a demo that does not get there says so."""
        pause = Event()
        for _ in range(PATIENCE_SECONDS * 5):
            if holds():
                return
            pause.wait(0.2)
        raise DemoError(f"waited {PATIENCE_SECONDS} s in vain until {what}")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "CRONLEDGER_DATABASE_URL": self.store.dsn}


_WITH_FILE = ("check", "next", "run", "reconcile", "backfill")
_QUICK = ("--measure-every", "1s", "--reconcile-every", "2s")


def _get(address: str) -> list[str]:
    with urlopen(address, timeout=5) as answer:
        body: bytes = answer.read()
    return body.decode().splitlines()


def _values(address: str, series: str) -> list[float]:
    """The values of the series that begin so."""
    return [float(line.split()[-1]) for line in _get(address) if line.startswith(series)]
