"""A step of a loop that goes on whatever one of them says."""

from __future__ import annotations

from collections.abc import Callable

from cronledger.core.events import Event
from cronledger.ports import Observe


def failure_of_step(step: Callable[[], None]) -> Exception | None:
    """What the step raised, which the caller tells."""
    try:
        step()
    except Exception as error:  # whatever it was, the loop goes on and says so
        return error
    return None


def never_raising(observe: Observe) -> Observe:
    """A listener that cannot end the thread it is told on: a full disk must not stop the work."""

    def tell(event: Event) -> None:
        if failure_of_step(lambda: observe(event)) is not None:
            return

    return tell
