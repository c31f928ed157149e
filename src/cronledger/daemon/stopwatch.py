"""How long the phases of one pass take, those that fail among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from cronledger.ports import Clock


class Stopwatch:
    """Adds up the time of each phase; a phase may be entered many times. `spent`: by name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.spent: dict[str, timedelta] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What runs within belongs to it."""
        began = self._clock.monotonic()
        try:
            yield
        finally:
            elapsed = self._clock.monotonic() - began
            self.spent[name] = self.spent.get(name, timedelta(0)) + elapsed
