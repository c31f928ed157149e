"""Which schedules a window says nothing of: no whole interval of them has passed in it.

A report without a missing key is good news only of schedules that had the chance to miss one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronledger.core.diff import OccurrenceClass
from cronledger.core.expand import instants
from cronledger.core.expected import Standing, ZoneOf, clock_of, expected
from cronledger.core.instants import Window, from_epoch
from cronledger.core.report import Section
from cronledger.core.timeline import in_force, next_owed

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A schedule of which the window says nothing. `due` are its keys in the window, `following`
    is the next one after it, `interval` what lies between them if that is longer than the window.
    """

    schedule: str
    due: int
    following: datetime | None
    interval: timedelta | None = None


def uncovered(
    standing: Standing, section: Section | None, window: Window, zone_of: ZoneOf
) -> Uncovered | None:
    """Whether the window (that ends now at the latest) is too short to judge the schedule by it.

    It is long enough if a key of it was decided there - recorded, left out, or past its grace -
    and the window is no shorter than the interval before or after such a key. What never falls due
    again is not asked.
    """
    decided = 0 if section is None else _decided(section)
    if decided > 1:
        return None
    owed = expected(standing.versions, window, zone_of)
    following = next_owed(standing.versions, window.end - _SECOND, 1, zone_of)
    after = following[0].logical_time if following else None
    if not decided:
        return Uncovered(standing.name, len(owed), after) if owed or after else None
    start = max(window.start, standing.versions[0].effective_from)
    length = window.end - start
    if any(_has_neighbour(standing, epoch, length, zone_of) for epoch in owed):
        return None
    interval = after - from_epoch(owed[-1]) if after else None
    return Uncovered(standing.name, len(owed), after, interval) if after else None


def _decided(section: Section) -> int:
    """Expected keys whose class is known."""
    counted = section.counts.items()
    return sum(n for word, n in counted if word is not OccurrenceClass.UNEXPECTED)


def _has_neighbour(standing: Standing, epoch: int, length: timedelta, zone_of: ZoneOf) -> bool:
    """Whether the timing in force names another key no further from that one than `length`."""
    at = from_epoch(epoch)
    version = in_force(standing.versions, at)
    assert version is not None, "an expected key has a version"
    around = Window(at - length, at + length + _SECOND)
    return len(instants(version.timing, clock_of(version, zone_of), around)) > 1
