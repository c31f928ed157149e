"""The occurrence key: `<schedule>[<k=v,...>]:<logical time>`, and nothing else.

No version, zone, expression or jitter stands in a key, so an edit never renames the past.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from cronledger.core.instants import format_instant, parse_instant

SCHEDULE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_KEY = re.compile(
    r"(?P<prefix>[a-z0-9][a-z0-9._-]{0,62}(?:\[[^\]:]*\])?):(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
)


@dataclass(frozen=True, slots=True, order=True)
class OccurrenceKey:
    """Names one owed run. Ordered by schedule, then logical time (aware UTC, whole seconds)."""

    schedule: str
    logical_time: datetime

    def __str__(self) -> str:
        return f"{self.schedule}:{format_instant(self.logical_time)}"

    @classmethod
    def parse(cls, text: str) -> OccurrenceKey:
        """The key that `text` spells. Raises ValueError with the form expected."""
        match = _KEY.fullmatch(text)
        if match is None:
            raise ValueError(f"expected a key such as cleanup:2026-08-07T02:00:00Z, got {text!r}")
        return cls(match["prefix"], parse_instant(match["time"]))
