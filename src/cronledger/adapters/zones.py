"""Time zones as data, from the pinned tzdata wheel and never from the machine's own copy."""

from __future__ import annotations

import difflib
import re
import struct
from dataclasses import dataclass
from datetime import date
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING

import tzdata  # type: ignore[import-untyped]  # the wheel ships no types

from cronledger.core.instants import HORIZON, Zone
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

# TZif (RFC 9636): magic and version, then the six counts of the block that follows.
_HEADER = struct.Struct(">4sc15x6l")
# Seconds east of UTC, whether it is summer time, and where its abbreviation stands.
_KIND = struct.Struct(">l?B")
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()

_NAME = r"(?:<[^>]+>|[A-Za-z]+)"
_CLOCK = r"[+-]?\d+(?::\d+)*"
_FOOTER = re.compile(
    rf"{_NAME}(?P<standard>{_CLOCK})(?:{_NAME}(?P<summer>{_CLOCK})?(?P<rules>,.+)?)?"
)
_RULES = re.compile(rf",M(\d+)\.(\d)\.(\d)(?:/({_CLOCK}))?" * 2)


class PinnedZones:
    """The zones of the pinned zone data, each read once. `version` is IANA's, such as 2026f."""

    def __init__(self) -> None:
        self.version: str = tzdata.IANA_VERSION
        self._names = frozenset(resources.files(tzdata).joinpath("zones").read_text().split())
        self._loaded: dict[str, Zone] = {}

    def names(self) -> frozenset[str]:
        """Every name that `load` knows, links included."""
        return self._names

    def load(self, name: str) -> Zone:
        """The zone of that name, laid out up to HORIZON. Raises ConfigError for an unknown one."""
        zone = self._loaded.get(name)
        if zone is None:
            # Only a listed name is made into a path.
            if name not in self._names:
                raise ConfigError(self._unknown(name))
            zone = self._loaded[name] = _read_zone(name, self.version, self.data(name))
        return zone

    def data(self, name: str) -> bytes:
        """The TZif file of a known name."""
        return resources.files(tzdata).joinpath("zoneinfo", *name.split("/")).read_bytes()

    def _unknown(self, name: str) -> str:
        spelled = {known.lower(): known for known in self._names}
        spelled |= {known.rsplit("/", 1)[1].lower(): known for known in self._names if "/" in known}
        wanted = name[:60].strip().lower().replace(" ", "_")
        close = difflib.get_close_matches(wanted, spelled, n=1)
        hint = f"did you mean {spelled[close[0]]}?" if close else "write one such as Europe/Berlin"
        return f"unknown time zone {name[:60]!r} in zone data {self.version}; {hint}"


@dataclass(frozen=True, slots=True)
class _Change:
    """From `instant` (an epoch) on, the zone is `offset` seconds east of UTC."""

    instant: int
    offset: int


@dataclass(frozen=True, slots=True)
class _YearlyRule:
    """Each year, on the `week`th `weekday` (5: the last) of `month`, `seconds` after midnight."""

    month: int
    week: int
    weekday: int
    seconds: int

    def wall_time(self, year: int) -> int:
        first = date(year, self.month, 1)
        day = 1 + (self.weekday - first.isoweekday()) % 7 + 7 * (self.week - 1)
        following = date(year + self.month // 12, self.month % 12 + 1, 1)
        if day > (following - first).days:
            day -= 7
        return (first.toordinal() - _EPOCH_ORDINAL + day - 1) * 86400 + self.seconds


def _read_zone(name: str, version: str, data: bytes) -> Zone:
    before, changes, footer = _read_file(data)
    last = changes[-1].instant if changes else -(2**62)
    try:
        changes += [change for change in _read_footer(footer) if change.instant > last]
    except ValueError:
        message = f"zone data {version} gives {name} the rule {footer!r}, which this version cannot"
        raise ConfigError(f"{message} read; pin an older tzdata") from None
    # A file also lists changes of abbreviation alone; only those of the offset count here.
    offsets = [before, *(change.offset for change in changes)]
    moved = [
        new for (old, offset), new in zip(pairwise(offsets), changes, strict=True) if old != offset
    ]
    return Zone(
        name,
        version,
        tuple(change.instant for change in moved),
        (before, *(change.offset for change in moved)),
    )


def _read_file(data: bytes) -> tuple[int, list[_Change], str]:
    """The offset before the first change, the changes listed, and the footer's rule."""
    # The first block holds 32-bit times for old readers; the second one has all of them.
    times, types, end = _measure(data, 0, time_size=4)
    times, types, _ = _measure(data, end, time_size=8)
    start = end + _HEADER.size
    instants = struct.unpack_from(f">{times}q", data, start)
    indexes = data[start + 8 * times : start + 9 * times]
    kinds = [_KIND.unpack_from(data, start + 9 * times + 6 * n) for n in range(types)]
    before = next((offset for offset, summer, _ in kinds if not summer), kinds[0][0])
    changes = [_Change(at, kinds[n][0]) for at, n in zip(instants, indexes, strict=True)]
    return before, changes, data.rsplit(b"\n", 2)[1].decode("ascii")


def _measure(data: bytes, start: int, *, time_size: int) -> tuple[int, int, int]:
    """How many times and kinds the block at `start` holds, and where it ends."""
    magic, _, utc, standard, leap, times, types, characters = _HEADER.unpack_from(data, start)
    assert magic == b"TZif"
    size = times * (time_size + 1) + types * _KIND.size + characters + leap * (time_size + 4)
    return times, types, start + _HEADER.size + size + standard + utc


def _read_footer(footer: str) -> Iterator[_Change]:
    """Every change up to HORIZON by the rule that holds after the last change listed.

    Raises ValueError for a rule in another form than `Mm.w.d`; the data uses no other.
    """
    match = _FOOTER.fullmatch(footer)
    if match is None:
        raise ValueError(footer)
    if match["rules"] is None:
        return
    # POSIX counts offsets west of UTC; ours are east.
    standard = -_seconds(match["standard"])
    summer = -_seconds(match["summer"]) if match["summer"] else standard + 3600
    start, end = _read_rules(match["rules"])
    for year in range(1970, date.fromordinal(HORIZON // 86400 + _EPOCH_ORDINAL).year):
        both = (
            _Change(start.wall_time(year) - standard, summer),
            _Change(end.wall_time(year) - summer, standard),
        )
        yield from sorted(both, key=lambda change: change.instant)


def _read_rules(text: str) -> tuple[_YearlyRule, _YearlyRule]:
    found = _RULES.fullmatch(text)
    if found is None:
        raise ValueError(text)
    rules = [
        _YearlyRule(int(month), int(week), int(day), _seconds(clock or "2"))
        for month, week, day, clock in (found.groups()[:4], found.groups()[4:])
    ]
    return rules[0], rules[1]


def _seconds(clock: str) -> int:
    """`[-]h[:mm[:ss]]` in seconds."""
    parts = clock.lstrip("+-").split(":")
    total = sum(int(part) * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -total if clock.startswith("-") else total
