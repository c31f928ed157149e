"""What the worker needs of whoever wakes it up; an adapter implements it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol


class WakeUps(Protocol):
    """Says that jobs became claimable. On a connection of its own, for one thread but for `end`."""

    def listen(self, queues: Sequence[str]) -> bool:
        """Listen for the next minute, on every queue if none is named; True if that is new.

        Before it was, something may have gone unheard. RefusedError: nobody can listen here.
        """

    def wait(self, patience: timedelta) -> bool:
        """Whether something was heard within `patience`; `end` cuts it short."""

    def end(self) -> None:
        """End this wait and those to come; from any thread."""

    def close(self) -> None:
        """Give the connection back; the next use makes a new one."""
