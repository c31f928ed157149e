"""How long a loop waits after its pass failed."""

from __future__ import annotations

from datetime import timedelta
from zlib import crc32

FIRST = timedelta(milliseconds=500)


def pause_after(failures: int, cap: timedelta, name: str) -> timedelta:
    """Doubles with each failure in a row (from 1) up to `cap`, times a factor in [0.5, 1).

    The factor is drawn from `name`, which differs between processes, and the count: a fleet that
    lost its database does not come back in step.
    """
    draw = crc32(f"{name}#{failures}".encode()) / 2**32
    return min(FIRST * (1 << min(failures - 1, 20)), cap) * (0.5 + draw / 2)
