"""What is stored of a timing reads back, and the hashes of yesterday stay those of today."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from cronledger.core.cron import Layout, parse
from cronledger.core.schedule import DayRule, Dst, Fold, Gap, Timing, Wildcard
from cronledger.core.spec import from_spec, timing_hash, to_spec

ALL_DAYS = list(range(1, 32))
ALL_MONTHS = list(range(1, 13))
ALL_WEEKDAYS = list(range(7))
# As the ledgers of the first release hold them: neither text may ever change here.
NIGHTLY: dict[str, Any] = {
    "cron": {
        "text": "0 2 * * *",
        "layout": "5",
        "seconds": [0],
        "minutes": [0],
        "hours": [2],
        "days": ALL_DAYS,
        "months": ALL_MONTHS,
        "weekdays": ALL_WEEKDAYS,
        "years": None,
        "last_days": [],
        "nearest_weekdays": [],
        "nth_weekdays": [],
        "last_weekdays": [],
        "minute_starred": False,
        "hour_starred": False,
        "hour_bare": False,
        "day_starred": True,
        "day_bare": True,
        "weekday_starred": True,
        "weekday_bare": True,
    },
    "timezone": "UTC",
    "dst": {"gap": "next", "fold": "first", "wildcard": "elapsed"},
    "day_rule": "vixie",
    "start": None,
    "end": None,
}
ODD: dict[str, Any] = {
    "cron": {
        "text": "0 30 2 L,15W 1-3 5L,1#2 2026-2030",
        "layout": "7",
        "seconds": [0],
        "minutes": [30],
        "hours": [2],
        "days": [],
        "months": [1, 2, 3],
        "weekdays": [],
        "years": [2026, 2027, 2028, 2029, 2030],
        "last_days": [0],
        "nearest_weekdays": [15],
        "nth_weekdays": [[1, 2]],
        "last_weekdays": [5],
        "minute_starred": False,
        "hour_starred": False,
        "hour_bare": False,
        "day_starred": False,
        "day_bare": False,
        "weekday_starred": False,
        "weekday_bare": False,
    },
    "timezone": "Europe/Berlin",
    "dst": {"gap": "skip", "fold": "both", "wildcard": "same"},
    "day_rule": "and",
    "start": "2026-01-01T00:00:00Z",
    "end": "2030-01-01T00:00:00Z",
}
STORED = [
    (
        Timing(parse("0 2 * * *")),
        NIGHTLY,
        "47d15c89f0d660842346a220d42f32da1500d6f21aef638117b952783d0cdc93",
    ),
    (
        Timing(
            parse("0 30 2 L,15W 1-3 5L,1#2 2026-2030", Layout.SEVEN),
            "Europe/Berlin",
            Dst(Gap.SKIP, Fold.BOTH, Wildcard.SAME),
            DayRule.AND,
            datetime(2026, 1, 1, tzinfo=UTC),
            datetime(2030, 1, 1, tzinfo=UTC),
        ),
        ODD,
        "24c384770e16d049f83f92c6b8737c87ee276f19b84e58b77a843e8cac790553",
    ),
]


@pytest.mark.parametrize(("timing", "stored", "digest"), STORED, ids=["nightly", "odd"])
def test_a_cron_is_stored_and_hashed_as_in_the_first_release(
    timing: Timing, stored: dict[str, Any], digest: str
) -> None:
    assert to_spec(timing) == stored
    assert from_spec(json.loads(json.dumps(stored))) == timing
    assert timing_hash(timing) == digest


def test_the_wording_of_a_cron_is_no_part_of_its_hash() -> None:
    assert timing_hash(Timing(parse("00 02 * * *"))) == timing_hash(Timing(parse("0 2 * * *")))
    assert timing_hash(Timing(parse("0 2 * * *"))) != timing_hash(Timing(parse("1 2 * * *")))
