"""What a process needs of its surroundings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Protocol

from cronledger.core.events import Event

Observe = Callable[[Event], None]
# What is done within is a span of that name.
Within = Callable[[str], AbstractContextManager[None]]


def untraced(_: str) -> AbstractContextManager[None]:
    """No span."""
    return nullcontext()


class Clock(Protocol):
    """This process's own clock, for waiting and measuring; it decides nothing about schedules."""

    def now(self) -> datetime:
        """Wall clock, aware UTC."""

    def monotonic(self) -> timedelta:
        """Time since some moment of the past; never steps back."""

    def draw(self) -> float:
        """A random number, uniform in [0, 1), for jitter."""
