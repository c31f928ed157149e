"""The preset `croniter` against croniter itself, around every clock change of two years."""

from __future__ import annotations

import io
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import parse
from cronledger.core.expand import instants
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import DST_PRESETS, Timing

ZONES = PinnedZones()
PLACES = [
    "Europe/Berlin",
    "Europe/Dublin",  # winter time is the summer time that is taken away
    "America/New_York",
    "America/Santiago",  # at midnight
    "America/Havana",
    "Africa/Cairo",
    "Asia/Beirut",
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Chatham",  # at a quarter to
]
CRONS = [
    "30 2 * * *", "0 2 * * *", "30 1 * * *", "0 3 * * *", "15 0 * * *", "30 0 * * *", "0 0 * * *",
    "59 23 * * *", "30 2 * * SUN", "10,40 1,2 * * *", "0 1-3 * * *",
    "*/5 * * * *", "0 * * * *", "30 * * * *", "0 */2 * * *", "*/15 2 * * *",
]  # fmt: skip
# Where the clock goes back from 03:45 to 02:45, croniter leaves out the second 02:45.
WRONG_THERE = {("Pacific/Chatham", "*/15 2 * * *")}
FROM, TO = 1767225600, 1830297600  # 2026 and 2027
AROUND = 2 * 86400


def theirs(cron: str, zone: str, start: int, end: int) -> list[int]:
    clock = ZoneInfo.from_file(io.BytesIO(ZONES.data(zone)), key=zone)
    walk = croniter(cron, datetime.fromtimestamp(start - 1, clock))
    found: list[int] = []
    while (at := int(walk.get_next(float))) < end:
        found.append(at)
    return sorted(set(found))


@pytest.mark.parametrize("place", PLACES)
def test_croniter_runs_what_the_preset_owes(place: str) -> None:
    zone = ZONES.load(place)
    changes = [at for at in zone.transitions if FROM <= at < TO]
    assert len(changes) >= 2
    differ = set()
    for change in changes:
        start, end = change - AROUND, change + AROUND
        for cron in CRONS:
            timing = Timing(parse(cron), place, DST_PRESETS["croniter"])
            ours = instants(timing, zone, Window(from_epoch(start), from_epoch(end)))
            if ours != theirs(cron, place, start, end):
                differ.add((place, cron))
    assert differ == {wrong for wrong in WRONG_THERE if wrong[0] == place}
