"""Effect receipts: what is decided before an outside effect is tried, and by which inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
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


def fingerprint(inputs: Any) -> str:
    """Equal for equal inputs: SHA-256, in hex, of their JSON with sorted keys.

    Raises TypeError for what JSON cannot hold.
    """
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
