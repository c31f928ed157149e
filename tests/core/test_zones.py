"""The zone data laid out by us against zoneinfo's own reading of the same files."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise

import pytest

import oracle
from cronledger.adapters.zones import PinnedZones
from cronledger.core.instants import HORIZON, Zone
from cronledger.errors import ConfigError

ZONES = PinnedZones()
NAMES = sorted(ZONES.names())
FROM_1900 = int(datetime(1900, 1, 1, tzinfo=UTC).timestamp())


def probes(zone: Zone, seed: int) -> set[int]:
    """Random instants of 1900 to 2199, and both sides of every change of the zone."""
    draw = random.Random(seed)
    anywhere = {draw.randrange(FROM_1900, HORIZON) for _ in range(40)}
    return anywhere | {at + side for at in zone.transitions for side in (-1, 0, 1)}


def test_every_zone_agrees_with_zoneinfo_around_every_change() -> None:
    assert len(NAMES) > 590
    assert [
        (name, at)
        for seed, name in enumerate(NAMES)
        for at in probes(ZONES.load(name), seed)
        if oracle.offset_at(oracle.pinned(name), at) != ZONES.load(name).offset_at(at)
    ] == []


def test_clocks_move_days_apart_so_that_only_neighbours_can_overlap() -> None:
    for name in NAMES:
        zone = ZONES.load(name)
        jumps = [abs(after - before) for before, after in pairwise(zone.offsets)]
        assert all(0 < jump <= 2 * 86400 for jump in jumps), name
        spans = [later - earlier for earlier, later in pairwise(zone.transitions)]
        assert all(span > jumps[n] + jumps[n + 1] for n, span in enumerate(spans)), name


def test_rules_are_laid_out_up_to_the_horizon() -> None:
    last = ZONES.load("Europe/Berlin").transitions[-1]
    assert datetime.fromtimestamp(last, UTC) == datetime(2199, 10, 27, 1, tzinfo=UTC)


def test_a_zone_is_read_once_and_names_its_data() -> None:
    zone = ZONES.load("Asia/Kolkata")
    assert ZONES.load("Asia/Kolkata") is zone
    assert zone.version == ZONES.version == "2026f"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("new york", "did you mean America/New_York?"),
        ("europe/london", "did you mean Europe/London?"),
        ("", "write one such as Europe/Berlin"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_one_meant(wrong: str, meant: str) -> None:
    with pytest.raises(ConfigError, match="unknown time zone") as caught:
        ZONES.load(wrong)
    assert str(caught.value).endswith(meant)


@pytest.mark.parametrize("path", ["../zones", "/etc/localtime", "Europe/../UTC", "Europe", "UTC\0"])
def test_a_name_that_is_a_path_never_reaches_the_file_system(path: str) -> None:
    with pytest.raises(ConfigError, match="unknown time zone"):
        ZONES.load(path)
