"""Instants, windows, durations and zones: how wall time and UTC relate.

Inside the core an instant is an epoch: whole seconds since 1970-01-01T00:00:00Z, as `int`.
A wall time is counted the same way, as if the wall clock showed UTC.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_EPOCH_ORDINAL = EPOCH.toordinal()
# Zone rules are laid out up to here; nobody's schedule looks further.
HORIZON = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp())

_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d))?)?([Zz]|[+-]\d\d:?\d\d)?"
)
_ISO_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SHORT_DURATION = re.compile(r"(\d+)(s|m|h|d|w)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def to_epoch(instant: datetime) -> int:
    """Whole seconds since the epoch; a fraction is rounded down."""
    return (instant - EPOCH) // _SECOND


def from_epoch(epoch: int) -> datetime:
    """The aware UTC datetime of an epoch."""
    return EPOCH + timedelta(seconds=epoch)


def format_epoch(epoch: int) -> str:
    """An epoch as `format_instant` writes its instant, without a datetime in between."""
    day, second = divmod(epoch, 86400)
    return f"{_day_text(day)}T{_clock_text(second)}Z"


# Lists of occurrences name few days, and few times of the day, each many times.
@lru_cache(maxsize=1024)
def _day_text(day: int) -> str:
    return date.fromordinal(day + _EPOCH_ORDINAL).isoformat()


@lru_cache(maxsize=4096)
def _clock_text(second: int) -> str:
    minute, second = divmod(second, 60)
    return f"{minute // 60:02d}:{minute % 60:02d}:{second:02d}"


def format_instant(instant: datetime) -> str:
    """RFC 3339 in UTC with `Z`; whole seconds, a fraction is cut."""
    # Not strftime, which writes the year 999 with three digits.
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def format_wall(wall: int) -> str:
    """A wall time as ISO 8601 without a zone."""
    return from_epoch(wall).replace(tzinfo=None).isoformat(timespec="seconds")


def parse_wall(text: str) -> int:
    """The wall time that `format_wall` spelled."""
    return to_epoch(datetime.fromisoformat(text).replace(tzinfo=UTC))


def parse_instant(text: str) -> datetime:
    """The datetime that `text` (ISO 8601, seconds at the finest) names; naive if it has no zone.

    Raises ValueError, with what to write instead, for anything else.
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a time such as 2026-03-29T01:00:00Z, got {text!r}")
    try:
        return datetime.fromisoformat(match.group(0).upper().replace(" ", "T"))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def parse_duration(text: str) -> timedelta:
    """The span that `text` names: ISO 8601 (`PT5M`, `P1DT12H`) or short (`90s`, `5m`, `7d`).

    A day is 24 elapsed hours; months and years are refused, their length varies.
    """
    short = _SHORT_DURATION.fullmatch(text.strip())
    iso = _ISO_DURATION.fullmatch(text.strip())
    try:
        if short is not None:
            return timedelta(seconds=int(short.group(1)) * _UNITS[short.group(2)])
        if iso is not None and text.strip()[-1] not in "PT":
            parts = [int(part or 0) for part in iso.groups()]
            return timedelta(
                weeks=parts[0], days=parts[1], hours=parts[2], minutes=parts[3], seconds=parts[4]
            )
    except OverflowError:
        raise ValueError(f"{text!r} is longer than any schedule; write at most P1000W") from None
    raise ValueError(f"expected a duration such as PT5M, 90s or 7d, got {text!r}")


def human_span(span: timedelta) -> str:
    """A span for people, two units at most: `3h 5m`, `12s`."""
    seconds = int(span.total_seconds())
    units = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
    parts: list[str] = []
    for size, unit in units:
        amount, seconds = divmod(seconds, size)
        if amount or (unit == "s" and not parts):
            parts.append(f"{amount}{unit}")
    return " ".join(parts[:2])


def format_duration(span: timedelta) -> str:
    """ISO 8601 with days, hours, minutes, seconds; `PT0S` for none."""
    total = span // timedelta(seconds=1)
    days, rest = divmod(total, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    clock = "".join(f"{n}{u}" for n, u in ((hours, "H"), (minutes, "M"), (seconds, "S")) if n)
    day = f"{days}D" if days else ""
    if not day and not clock:
        return "PT0S"
    return f"P{day}T{clock}" if clock else f"P{day}"


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span of time, `[start, end)`, in aware UTC. May be empty, never reversed."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        assert self.start.tzinfo is not None
        assert self.end.tzinfo is not None
        if self.end < self.start:
            raise ValueError(
                f"the window ends ({format_instant(self.end)}) before it starts "
                f"({format_instant(self.start)}); swap the two"
            )

    def intersect(self, start: datetime, end: datetime | None) -> Window:
        """What this window shares with `[start, end)`; `end` None is open. May be empty."""
        lower = max(self.start, start)
        upper = self.end if end is None else min(self.end, end)
        return Window(lower, max(lower, upper))

    def epochs(self) -> tuple[int, int]:
        """The epochs `[first, last)` whose instants lie in the window."""
        return _ceil_epoch(self.start), _ceil_epoch(self.end)


def up_to(start: datetime, now: datetime) -> Window:
    """The window of everything from `start` that has come by `now`, `now` itself included."""
    end = from_epoch(to_epoch(now) + 1)
    return Window(min(start, end), end)


def _ceil_epoch(instant: datetime) -> int:
    return -((EPOCH - instant) // _SECOND)


# A named tuple, for its speed: an expansion makes a few for each schedule.
class Segment(NamedTuple):
    """A span `[start, end)` of epochs in which a zone keeps one offset (seconds east of UTC)."""

    start: int
    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone as data: `offsets[i]` holds from `transitions[i-1]` until `transitions[i]`.

    `transitions` are epochs, ascending, and only those that change the offset; there is one offset
    more than transitions. Rules are laid out up to `HORIZON`. `version` names the zone data.
    """

    name: str
    version: str
    transitions: tuple[int, ...]
    offsets: tuple[int, ...]

    def offset_at(self, epoch: int) -> int:
        """Seconds east of UTC at an instant."""
        return self.offsets[bisect_right(self.transitions, epoch)]

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """The segments that touch `[start, end)`, whole (not cut to the window), ascending.

        The first segment of a zone starts at -10**12, the last ends at 10**12.
        """
        count = len(self.transitions)
        for index in range(bisect_right(self.transitions, start), count + 1):
            begin = self.transitions[index - 1] if index else -(10**12)
            if begin >= end:
                return
            until = self.transitions[index] if index < count else 10**12
            yield Segment(begin, until, self.offsets[index])

    def fold_at(self, epoch: int) -> int:
        """1 if the wall time at `epoch` has already been shown once before, else 0."""
        offset = self.offset_at(epoch)
        index = bisect_right(self.transitions, epoch)
        while index > 0 and epoch - self.transitions[index - 1] < 172800:
            index -= 1
            earlier = epoch + offset - self.offsets[index]
            if self.offset_at(earlier) == self.offsets[index] and earlier < epoch:
                return 1
        return 0


def same_rules(one: Zone, other: Zone, instant: datetime) -> bool:
    """Whether two clocks show the same from that instant on."""
    epoch = _ceil_epoch(instant)
    first, second = (bisect_right(zone.transitions, epoch) for zone in (one, other))
    return (
        one.transitions[first:] == other.transitions[second:]
        and one.offsets[first:] == other.offsets[second:]
    )
