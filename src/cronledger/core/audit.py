"""Who changed something by hand, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

REASON_LENGTH_MIN = 8


@dataclass(frozen=True, slots=True)
class By:
    """The actor of a manual change and the reason given; both are required.

    Raises ValueError for a reason too short to help whoever reads it later.
    """

    actor: str
    reason: str

    def __post_init__(self) -> None:
        if not self.actor.strip():
            raise ValueError("an actor is required; name one with --actor")
        if len(self.reason.strip()) < REASON_LENGTH_MIN:
            raise ValueError(
                f"a reason of at least {REASON_LENGTH_MIN} characters is required; "
                'say why with --reason "..."'
            )


@dataclass(frozen=True, slots=True)
class Audit:
    """A manual change as it was recorded. `login` is whom the database knows, not claimed."""

    id: int
    at: datetime
    actor: str
    login: str
    reason: str
    action: str
    subject: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One manual change: what was done (`action`) to what (`subject`), with JSON-able details."""

    by: By
    action: str
    subject: str
    detail: Mapping[str, Any]
