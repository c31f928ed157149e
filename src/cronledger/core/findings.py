"""What a lint says of a schedule: its code, how bad it is, which key of the file it means."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

CRON_PATH = ("cron", "expr")
# How far ahead keys and clock changes are looked at.
AHEAD = timedelta(days=731)
# Every code there is; a page of the documentation names each with an example.
CODES = (
    "both-day-fields",
    "catchup-max",
    "catchup-window",
    "ending-schedules",
    "fixed-offset-zone",
    "fold",
    "full-set",
    "gap",
    "herd",
    "hours-step",
    "grace",
    "moved-keys",
    "objective",
    "second-opinion",
    "short-months",
    "uneven-step",
)


class Severity(StrEnum):
    """How bad a finding is. A warning fails `check --strict`; a hint never does."""

    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth a second look. `schedule` is "" for the file as a whole.

    `message` says what is odd and, after a semicolon, what to write instead. `path` leads to the
    key meant, below the schedule; `offset` is the character of its text.
    """

    code: str
    severity: Severity
    message: str
    schedule: str = ""
    path: tuple[str, ...] = CRON_PATH
    offset: int = 0

    def __post_init__(self) -> None:
        assert self.code in CODES
