"""The only reader of this machine's clocks and chance; neither decides what is owed."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Wall clock, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> timedelta:
        """Time since boot; never steps back."""
        return timedelta(seconds=time.monotonic())

    def draw(self) -> float:
        """A random number, uniform in [0, 1); not for secrets."""
        return random.random()  # noqa: S311  # jitter, not cryptography
