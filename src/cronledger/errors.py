"""What can go wrong, and the exit code that says so.

CronledgerError
├── ConfigError    2   the file or the command line is wrong; carries every problem found
├── StoreError     3   the database could not answer
├── UnansweredError 3  what is known does not decide what was asked
└── RefusedError   4   the answer is possible but not allowed as asked (a lock, a pending migration)

Handlers signal with `Retry` and `Discard` (worker/context.py), which are not errors of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class CronledgerError(Exception):
    """Root of the tree. `exit_code` is what the command line exits with."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` and `column` count from 1; 0 means the file as a whole.

    `message` says what is wrong and, after a semicolon, what to write instead.
    """

    message: str
    subject: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        return ": ".join(part for part in (place, self.subject, self.message) if part)


class ConfigError(CronledgerError):
    """The schedule file or an argument cannot be used; `problems` holds all of them, in order."""

    exit_code = 2

    def __init__(self, problems: Iterable[Problem] | str) -> None:
        found = (Problem(problems),) if isinstance(problems, str) else tuple(problems)
        self.problems = found
        super().__init__("\n".join(str(problem) for problem in found))


class StoreError(CronledgerError):
    """The database could not be reached or did not answer as asked. `sqlstate` is "" if unknown."""

    exit_code = 3

    def __init__(self, message: str, sqlstate: str = "") -> None:
        self.sqlstate = sqlstate
        super().__init__(message)


class UnansweredError(CronledgerError):
    """Neither yes nor no follows from what is known; the message says what is lacking."""

    exit_code = 3


class RefusedError(CronledgerError):
    """What was asked is not allowed as it was asked; the message says what to do first."""

    exit_code = 4
