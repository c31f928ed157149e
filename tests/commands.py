"""The command line in tests: within this process for many, as a process of its own for few."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import Any

import pytest

from cronledger.cli.app import run

PROGRAM = (sys.executable, "-m", "cronledger")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Cli:
    """Runs commands in this process and hands over what they said."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str | os.PathLike[str]) -> Answer:
        self.capsys.readouterr()
        code = run([os.fspath(argument) for argument in arguments])
        said = self.capsys.readouterr()
        return Answer(code, said.out, said.err)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without any database, plus `changes`."""
    names = {"CRONLEDGER_DATABASE_URL", "DATABASE_URL"}
    kept = {k: v for k, v in os.environ.items() if k not in names and not k.startswith("PG")}
    return kept | changes


def process(*arguments: str | os.PathLike[str], **changes: str) -> Answer:
    """Runs the real program to its end."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment(**changes),
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def until(holds: Callable[[], object], what: str, seconds: float = 20) -> None:
    """Ask again and again until it holds; another process gives no event to wait for."""
    pause, end = Event(), monotonic() + seconds
    while not holds():
        assert monotonic() < end, f"not within {seconds:g} s: {what}"
        pause.wait(0.02)
