"""The slices of a window are the window, and owe no more than they say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cronledger.adapters.zones import PinnedZones
from cronledger.core.expected import expected, slices
from cronledger.core.instants import Window
from cronledger.core.timeline import timeline
from ledgers import schedule_of

START = datetime(2026, 10, 24, 7, 3, 11, 500, tzinfo=UTC)
SECONDS = st.integers(0, 90_000)
TRIGGERS = st.sampled_from(
    [
        "cron: '* * * * *'",
        "cron: '*/7 * * * *'",
        "cron: '30 2 * * *'",
        "cron: '0,30 1-4 * * *'",
        "cron: {expr: '* * * * * *', fields: 6s}",
    ]
)


@given(TRIGGERS, SECONDS, st.integers(1, 5000))
def test_slices(trigger: str, seconds: int, most: int) -> None:
    schedule = schedule_of(f"s: {trigger}, timezone: Europe/London")
    window = Window(START, START + timedelta(seconds=seconds))
    found = list(slices(timeline(schedule), window, most))
    assert found[0][0].start == window.start
    assert found[-1][0].end == window.end
    assert all(one.end == two.start for (one, _), (two, _) in pairwise(found))
    zones = PinnedZones()
    owed = [expected(timeline(schedule), part, zones.load) for part, _ in found]
    assert all(len(keys) <= bound for keys, (_, bound) in zip(owed, found, strict=True))
    whole = expected(timeline(schedule), window, zones.load)
    assert [key for keys in owed for key in keys] == whole
    # An hour is the least that a slice takes.
    assert all(bound <= max(most, 3600) for _, bound in found[:-1])
