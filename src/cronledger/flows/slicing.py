"""Which slices of which schedules a reconcile compares in one round, and what is left of one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronledger.core.expected import Standing, slices
from cronledger.core.instants import Window, up_to
from cronledger.core.keys import OccurrenceKey
from cronledger.ports import Span

# Of schedules that owe little, so many slices make a round.
ROUND_SLICES = 200


@dataclass(frozen=True, slots=True)
class Rest:
    """What a reconcile over `window` that was interrupted has left: the keys after `after`."""

    window: Window
    after: OccurrenceKey

    def of(self, schedule: str) -> Window | None:
        """What is left of the window for a schedule, if anything is."""
        if schedule != self.after.schedule:
            return self.window if schedule > self.after.schedule else None
        following = self.after.logical_time + timedelta(seconds=1)
        window = self.window.intersect(following, None)
        return window if window.start < window.end else None


@dataclass(frozen=True, slots=True)
class Look:
    """A slice of the window of one schedule, and about how many keys it owes."""

    standing: Standing
    window: Window
    keys: int


def looks_of(
    known: Iterable[Standing], asked: Window | Rest, now: datetime, most: int
) -> Iterator[Look]:
    """What of each schedule is due, in slices of about so many keys, one after the other."""
    for standing in known:
        window = asked.of(standing.name) if isinstance(asked, Rest) else asked
        if window is None:
            continue
        due = window.intersect(window.start, max(window.start, up_to(now, now).end))
        for part, keys in slices(standing.versions, due, most):
            yield Look(standing, part, keys)


def rounds(looks: Iterable[Look], most: int) -> Iterator[list[Look]]:
    """Looks in groups that owe about so many keys together."""
    chunk: list[Look] = []
    keys = 0
    for look in looks:
        if chunk and (keys + look.keys > most or len(chunk) == ROUND_SLICES):
            yield chunk
            chunk, keys = [], 0
        chunk.append(look)
        keys += look.keys
    if chunk:
        yield chunk


def spans_of(looks: Iterable[Look]) -> list[Span]:
    """One window for each schedule of a round; its slices follow one another."""
    spans: dict[int, Window] = {}
    for look in looks:
        first = spans.get(look.standing.id, look.window)
        spans[look.standing.id] = Window(first.start, look.window.end)
    return list(spans.items())


def within(window: Window, epochs: Sequence[int]) -> Sequence[int]:
    """Those of `epochs` (ascending) that lie in the window."""
    first, last = window.epochs()
    return epochs[bisect_left(epochs, first) : bisect_left(epochs, last)]
