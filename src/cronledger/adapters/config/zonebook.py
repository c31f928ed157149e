"""Zones by name, and the instants that wall times of the file mean in them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from cronledger.core.instants import from_epoch, to_epoch
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.instants import Zone

_TWO_DAYS = 172_800


class Zones(Protocol):
    """Where zone data comes from."""

    @property
    def version(self) -> str:
        """Such as `2026f`."""
        ...

    def load(self, name: str) -> Zone:
        """The zone called `name`. Raises ConfigError, with a suggestion, if there is none."""
        ...


class ZoneBook:
    """Looks each zone up once. Raises ValueError, to be shown as it stands, for an unknown name."""

    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._known: dict[str, Zone | str] = {}

    def find(self, name: str) -> Zone:
        if name not in self._known:
            try:
                self._known[name] = self._zones.load(name)
            except ConfigError as error:
                self._known[name] = error.problems[0].message
        found = self._known[name]
        if isinstance(found, str):
            raise ValueError(found)
        return found


def instant_of(time: datetime, zone: Zone) -> datetime:
    """The UTC instant of `time`, a naive one on the clock of `zone`.

    A time that the clock jumps over moves by the gap; of one shown twice it is the first.
    """
    if time.tzinfo is not None:
        return time.astimezone(UTC)
    wall = to_epoch(time.replace(tzinfo=UTC))
    near = list(zone.segments(wall - _TWO_DAYS, wall + _TWO_DAYS))
    for segment in near:
        if segment.start <= wall - segment.offset < segment.end:
            return from_epoch(wall - segment.offset)
    # In a gap: the offset before it counts on, as in RFC 5545 3.3.5.
    before = next(a for a, b in pairwise(near) if b.start <= wall - a.offset < b.end)
    return from_epoch(wall - before.offset)


def wall_of(time: datetime, zone: Zone) -> int:
    """What the clock of `zone` shows at `time`, as a wall time; a naive one is that already."""
    if time.tzinfo is None:
        return to_epoch(time.replace(tzinfo=UTC))
    epoch = to_epoch(time.astimezone(UTC))
    return epoch + zone.offset_at(epoch)
