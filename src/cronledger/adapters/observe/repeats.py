"""Repeats of a failure: said at first, once a minute with a count, and when it is over."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from cronledger.core.events import Event, LoopFailed, LoopRecovered, TelemetryFailed, TelemetrySent

REMIND = timedelta(minutes=1)
# Failures of one kind that are told apart; beyond, the one said longest ago is forgotten.
KINDS_MAX = 32

_NUMBER = re.compile(r"\d+")


@dataclass(slots=True)
class _Kind:
    said_at: timedelta
    left_out: int = 0


@dataclass(slots=True)
class _Subject:
    """One loop or signal. `down`: a failure was said, and its end was not."""

    kinds: dict[str, _Kind] = field(default_factory=dict)
    down: bool = False


class Repeats:
    """Tells which events are worth a line. Safe from any thread.

    What fails and works by turns makes no more lines than what only fails: a failure that was said
    within the last minute is not said again, and only the end of one that was said is said.
    """

    def __init__(self, elapsed: Callable[[], timedelta]) -> None:
        self._elapsed = elapsed
        self._subjects: dict[str, _Subject] = {}
        self._lock = threading.Lock()

    def heard(self, event: Event) -> int | None:
        """How many like it were left out since one was said; None to leave out this one."""
        match event:
            case LoopFailed():
                with self._lock:
                    # What differs in numbers alone, a process or a port, is the same failure.
                    said = _NUMBER.sub("#", f"{event.sqlstate} {event.error}")
                    return self._failed(f"loop {event.loop}", said)
            case TelemetryFailed():
                with self._lock:
                    return self._failed(f"telemetry {event.signal}", event.reason)
            case LoopRecovered():
                with self._lock:
                    return self._recovered(f"loop {event.loop}")
            case TelemetrySent():
                with self._lock:
                    return self._recovered(f"telemetry {event.signal}")
            case _:
                return 0

    def _failed(self, name: str, said: str) -> int | None:
        subject = self._subjects.setdefault(name, _Subject())
        now, kind = self._elapsed(), subject.kinds.get(said)
        if kind is not None and now - kind.said_at < REMIND:
            kind.left_out += 1
            return None
        left_out = kind.left_out if kind is not None else 0
        subject.kinds.pop(said, None)
        subject.kinds[said] = _Kind(now)
        if len(subject.kinds) > KINDS_MAX:
            del subject.kinds[next(iter(subject.kinds))]
        subject.down = True
        return left_out

    def _recovered(self, name: str) -> int | None:
        subject = self._subjects.get(name)
        if subject is None or not subject.down:
            return None
        subject.down = False
        left_out = sum(kind.left_out for kind in subject.kinds.values())
        for kind in subject.kinds.values():
            kind.left_out = 0
        return left_out
