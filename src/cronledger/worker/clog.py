"""When a worker claims no more because too many of its handlers hang."""

from __future__ import annotations

from cronledger.core.events import Lifecycle
from cronledger.ports import Observe

# A thread cannot be killed: a handler that hangs past its timeout frees its slot and keeps its
# thread, its memory and what it has open. Some of that is borne, so that a few bad jobs do not
# stop a queue; two for each slot mean that the worker no longer does what it was sized for. The
# floor lets a worker of one slot outlive an hour in which something it calls does not answer.
ABANDONED_MIN = 10
ABANDONED_PER_SLOT = 2


def abandoned_max(concurrency: int) -> int:
    """How many handlers may run on after their attempt ended before nothing more is claimed."""
    return max(ABANDONED_MIN, ABANDONED_PER_SLOT * concurrency)


class Clog:
    """Whether too many handlers hang, told once each time that it changes."""

    def __init__(self, name: str, concurrency: int, observe: Observe) -> None:
        self._name = name
        self._max = abandoned_max(concurrency)
        self._observe = observe
        self.clogged = False

    def look(self, abandoned: int) -> None:
        """So many handlers run on although their attempts have ended."""
        clogged = abandoned >= self._max
        if clogged == self.clogged:
            return
        self.clogged = clogged
        what = "worker_clogged" if clogged else "worker_unclogged"
        self._observe(Lifecycle(what, f"{self._name}: {self._detail(abandoned)}"))

    def _detail(self, abandoned: int) -> str:
        said = f"{abandoned} handlers run past their timeout"
        if not self.clogged:
            return f"{said}; claims again"
        return (
            f"{said}; claims nothing until fewer than {self._max} do; "
            "call job.check() in them, or start the worker again"
        )
