"""Effect receipts: what is decided before an outside effect is tried, and by which inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

NAME_BYTES_MAX = 200


class Decision(StrEnum):
    """What to do about an effect. See `cronledger.effect_begin`."""

    RUN = "run"
    RESUME = "resume"
    DONE = "done"
    CONFLICT = "conflict"
    IN_DOUBT = "in_doubt"
    LEASE_LOST = "lease_lost"


@dataclass(frozen=True, slots=True)
class Begun:
    """The answer of the ledger: a key for RUN and RESUME, a result for DONE."""

    decision: Decision
    idempotency_key: str | None
    result: Any


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt as operators see it. `generation` counts on when an effect never happened."""

    key: str
    effect: str
    state: str
    generation: int
    started_at: datetime
    committed_at: datetime | None
    provider_window: timedelta | None
    attempt: int
    job_id: int
    result: Any


def fingerprint(inputs: Any) -> str:
    """Equal for equal inputs: SHA-256, in hex, of their JSON with sorted keys.

    Raises TypeError for what JSON cannot hold.
    """
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
