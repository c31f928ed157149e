"""Under the `cron` preset no change of any zone from 2000 to 2037 loses or doubles a key.

What is owed is found by zoneinfo, from the pinned wheel's bytes, and by plain counting: a daily job
is answered once for each civil day, at the first minute at which the clock shows its time or,
having jumped, a later one; a wildcard job at every real slot. The source's own zones, days and
policies have no part in it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest

import oracle
from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import parse
from cronledger.core.expand import expand
from cronledger.core.instants import Window
from cronledger.core.schedule import DST_PRESETS, Timing

DAY = 86400
ZONES = PinnedZones()
NAMES = sorted(ZONES.names())
AREAS = sorted({name.rpartition("/")[0].split("/")[0] for name in NAMES})
FIRST = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())
# Half an hour, two hours, a whole day, negative summer time, over midnight, in Ramadan.
ODD = [
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Apia",
    "Pacific/Fakaofo",
    "Europe/Dublin",
    "America/Nuuk",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Havana",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "America/Caracas",
]
# The slots of an hour by the expression that names them: seconds after the hour.
WILDCARDS = {
    "*/15 * * * *": (0, 900, 1800, 2700),
    "0 * * * *": (0,),
    "30 * * * *": (1800,),
}


@dataclass(frozen=True)
class Change:
    """At `at` the clock of `zone` goes from `before` to `after` (seconds east of UTC)."""

    zone: str
    at: int
    before: int
    after: int

    @property
    def edges(self) -> tuple[int, int]:
        """The wall times between which the clock jumps over, or shows again, `[low, high)`."""
        low, high = sorted((self.at + self.before, self.at + self.after))
        return low, high


def changes(name: str) -> Iterator[Change]:
    """Every change of the offset, found by looking twice a day and then by halving."""
    zone = oracle.pinned(name)
    before = oracle.offset_at(zone, FIRST)
    for probe in range(FIRST + DAY // 2, LAST + 1, DAY // 2):
        after = oracle.offset_at(zone, probe)
        if after != before:
            yield Change(name, _moment(zone, probe - DAY // 2, probe), before, after)
            before = after


def _moment(zone: ZoneInfo, low: int, high: int) -> int:
    """The first epoch after `low` that has the offset of `high`."""
    wanted = oracle.offset_at(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        if oracle.offset_at(zone, middle) == wanted:
            high = middle
        else:
            low = middle
    return high


def times_of_day(change: Change) -> list[int]:
    """Minutes of the day before, at, within, at the end of and after the change, and midnight."""
    low, high = change.edges
    near = (low - 1800, low, (low + high) // 2, high - 60, high, high + 1800)
    return sorted({wall % DAY // 60 for wall in near} | {0, 12 * 60})


def answer(change: Change, nominal: datetime) -> int:
    """The epoch at which the clock first shows a wall time or, having jumped, a later one."""
    zone = oracle.pinned(change.zone)
    instant = nominal.replace(tzinfo=zone).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) != nominal:
        return change.at
    return int(instant.timestamp())


@cache
def timing(text: str, zone: str, preset: str) -> Timing:
    return Timing(parse(text), zone, DST_PRESETS[preset])


def found(text: str, change: Change, preset: str, days: int) -> list[tuple[int, int]]:
    """The epochs that the expander owes that near the change, and how many times land on each."""
    at, span = datetime.fromtimestamp(change.at, UTC), timedelta(days=days)
    window = Window(at - span, at + span)
    owed = expand(timing(text, change.zone, preset), ZONES.load(change.zone), window)
    return [(occurrence.instant, occurrence.collapsed) for occurrence in owed]


def daily(change: Change, minute: int) -> list[tuple[int, int]]:
    """As `found`, by zoneinfo: each civil day is answered once, the missing one as well."""
    civil = date(1970, 1, 1) + timedelta(days=change.at // DAY)
    landed: dict[int, int] = {}
    for n in range(-5, 6):
        nominal = datetime.combine(civil + timedelta(days=n), datetime.min.time())
        at = answer(change, nominal + timedelta(minutes=minute))
        if change.at - 3 * DAY <= at < change.at + 3 * DAY:
            landed[at] = landed.get(at, 0) + 1
    return sorted(landed.items())


def real_slots(change: Change, slots: tuple[int, ...]) -> list[tuple[int, int]]:
    """As `found`, by looking at the clock every five minutes."""
    assert change.before % 300 == 0 == change.after % 300
    first = -(-(change.at - 2 * DAY) // 300) * 300  # some clocks change at 00:01
    return [
        (epoch, 1)
        for epoch in range(first, change.at + 2 * DAY, 300)
        if (epoch + (change.before if epoch < change.at else change.after)) % 3600 in slots
    ]


def disagreements(every: Iterable[Change], preset: str = "cron") -> tuple[int, list[str]]:
    """How many jobs were compared, and those that differ, each as one line."""
    compared, wrong = 0, []
    for change in every:
        jobs = [(f"{m % 60} {m // 60} * * *", daily(change, m), 3) for m in times_of_day(change)]
        jobs += [(text, real_slots(change, slots), 2) for text, slots in WILDCARDS.items()]
        compared += len(jobs)
        for text, wanted, days in jobs:
            owed = found(text, change, preset, days)
            if owed != wanted:
                differ = sorted(set(owed) ^ set(wanted))
                wrong.append(f"{text} at {change}: {differ}")
    return compared, wrong


def swept(names: Iterable[str]) -> int:
    every = [change for name in names for change in changes(name)]
    alone = itertools.pairwise(every)
    assert all(one.zone != two.zone or two.at - one.at > 6 * DAY for one, two in alone)
    compared, wrong = disagreements(every)
    assert wrong == []
    return compared


def test_the_changes_of_a_sample_of_zones_lose_and_double_nothing() -> None:
    drawn = random.Random(2037).sample(NAMES, 20)
    assert swept(sorted({*drawn, *ODD})) > 5_000


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_no_change_of_any_zone_loses_or_doubles_a_key(area: str) -> None:
    names = [name for name in NAMES if name.rpartition("/")[0].split("/")[0] == area]
    assert names
    swept(names)


def test_the_areas_hold_every_zone_of_the_pinned_data() -> None:
    assert len(NAMES) > 590
    assert {"", "Africa", "America", "Antarctica", "Asia", "Europe", "Pacific"} < set(AREAS)


@pytest.mark.parametrize("preset", sorted({*DST_PRESETS} - {"cron"}))
def test_the_sweep_notices_every_other_preset(preset: str) -> None:
    _, wrong = disagreements(changes("Europe/Berlin"), preset)
    assert wrong


def test_a_missing_day_is_answered_when_the_next_one_begins() -> None:
    apia = next(change for change in changes("Pacific/Apia") if change.edges[1] % DAY == 0)
    assert apia.edges[1] - apia.edges[0] == DAY
    noon = [datetime.fromtimestamp(at, UTC).isoformat() for at, _ in daily(apia, 720)]
    assert noon[2:5] == [
        "2011-12-29T22:00:00+00:00",
        "2011-12-30T10:00:00+00:00",
        "2011-12-30T22:00:00+00:00",
    ]
    assert daily(apia, 0)[3] == (apia.at, 2)
