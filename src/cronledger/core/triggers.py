"""What a trigger may be, and what is taken out of the times it yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from cronledger.core.cron import Cron
from cronledger.core.every import Elapsed, Stride
from cronledger.core.instants import HORIZON, format_instant, from_epoch
from cronledger.core.rrule import Rrule

_SHOWN: Final = 3
_DAY: Final = 86400
# A wall time is less than this away from every instant that may show it.
_REACH: Final = 2 * _DAY


@dataclass(frozen=True, slots=True)
class At:
    """The instants of a list: epochs, ascending and unique."""

    epochs: tuple[int, ...]

    @property
    def text(self) -> str:
        """As people write it."""
        shown = ", ".join(format_instant(from_epoch(epoch)) for epoch in self.epochs[:_SHOWN])
        more = len(self.epochs) - _SHOWN
        return f"at {shown}" + (f" and {more} more" if more > 0 else "")


Single: TypeAlias = Cron | Elapsed | Stride | Rrule | At
# What counts on the wall clock, so that clock changes are a question; the others name instants.
OnWallClock: TypeAlias = Cron | Stride | Rrule
OfInstants: TypeAlias = Elapsed | At


@dataclass(frozen=True, slots=True)
class Union:
    """Whatever one of several triggers yields; a time that two of them yield counts once."""

    triggers: tuple[Single, ...]

    @property
    def text(self) -> str:
        """As people write it."""
        return "any of " + "; ".join(trigger.text for trigger in self.triggers)


Trigger: TypeAlias = Single | Union


@dataclass(frozen=True, slots=True)
class Exclusions:
    """What a schedule does not owe though its trigger yields it.

    `dates` are days of the wall clock (since 1970-01-01), `spans` half-open spans of epochs, both
    ascending; `rules` name wall times.
    """

    dates: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    rules: tuple[Cron | Rrule, ...] = ()


NOTHING_EXCLUDED: Final = Exclusions()


def singles(trigger: Trigger) -> tuple[Single, ...]:
    """The triggers that a trigger consists of."""
    return trigger.triggers if isinstance(trigger, Union) else (trigger,)


def first_epoch(trigger: Trigger) -> int | None:
    """An epoch before which the trigger yields nothing; None if it has no beginning."""
    starts = [_start_of(single) for single in singles(trigger)]
    known = [start for start in starts if start is not None]
    return min(known, default=HORIZON) if len(known) == len(starts) else None


def _start_of(trigger: Single) -> int | None:
    match trigger:
        case Cron():
            return None
        case Elapsed():
            return trigger.anchor
        case At():
            return trigger.epochs[0] if trigger.epochs else HORIZON
        case Stride() | Rrule():
            return trigger.start - _REACH


def times_a_day(trigger: Trigger) -> int:
    """A bound on how many times a day the trigger yields."""
    return sum(_pace_of(single) for single in singles(trigger))


def _pace_of(trigger: Single) -> int:
    match trigger:
        case Cron():
            return len(trigger.hours) * len(trigger.minutes) * len(trigger.seconds)
        case Elapsed():
            return _DAY // trigger.seconds + 1
        case Rrule():
            parts = trigger.parts
            return len(parts.hours) * len(parts.minutes) * len(parts.seconds) + 1
        case At() | Stride():
            return 1
