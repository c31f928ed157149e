"""The expander against cronsim 2.8, which is an executable twin of Debian's cron."""

from __future__ import annotations

from datetime import UTC, datetime

from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracle
from cronledger.core.cron import Cron, parse
from cronledger.core.expand import never_fires, next_after
from cronledger.core.instants import from_epoch, to_epoch
from cronledger.core.schedule import DST_PRESETS, Timing
from timings import (
    FROM_1970,
    HOURS,
    MINUTES,
    SETTINGS,
    UNTIL_2150,
    ZONES,
    lists,
    numbers,
    places,
)

# Left out of the comparison with cronsim 2.8: what it does not read (nW, L-n, FRIL, SAT-SUN), what
# it reads otherwise (`a-a/n` as `a/n`), and what it gets wrong, for which see `keeps_to_the_clock`.
SIMULATED_DAYS = lists(st.one_of(numbers(1, 28), st.sampled_from(["L", "LW"])), stars=4)
SIMULATED_WEEKDAYS = lists(
    st.one_of(numbers(0, 7), st.sampled_from(["MON-FRI", "5L", "tue#2"])), stars=4
)


def reads_alike(text: str) -> bool:
    """Whether cronsim gives no other meaning to a range of one value with a step."""
    items = [item for part in text.split() for item in part.split(",")]
    spans = [item.split("/")[0].split("-") for item in items if "-" in item and "/" in item]
    return all(first != last for first, last in spans)


def keeps_to_the_clock(timing: Timing, start: datetime, end: datetime) -> bool:
    """Whether cronsim walks this right. It steps from whole hour to whole hour and from midnight to
    midnight in wall time, also where a change moves the clock by half an hour or over a midnight.
    """
    assert isinstance(timing.trigger, Cron)
    if not (timing.trigger.minute_starred or timing.trigger.hour_starred):
        return True
    zone = ZONES.load(timing.timezone)
    first, last = to_epoch(start), to_epoch(end)
    for change in (at for at in zone.transitions if first <= at <= last):
        before, after = change + zone.offset_at(change - 1), change + zone.offset_at(change)
        if before % 3600 or after % 3600:
            return False
        if before < after and (before - 1) // 86400 != (after - 1) // 86400:
            return False
    return True


@settings(SETTINGS, max_examples=300)
@given(
    places(FROM_1970),
    MINUTES,
    HOURS,
    SIMULATED_DAYS,
    SIMULATED_WEEKDAYS,
    st.integers(93_600, 260_000),
)
def test_cronsim_agrees_under_the_cron_preset(
    place: tuple[str, int], minute: str, hour: str, day: str, weekday: str, before: int
) -> None:
    name, change = place
    text = f"{minute} {hour} {day} * {weekday}"
    timing = Timing(parse(text), name, DST_PRESETS["cron"])
    assume(change < UNTIL_2150 and reads_alike(text) and not never_fires(timing))
    # Not begun within a fold: asked from its second hour, cronsim answers with the first.
    after = from_epoch((change - before) // 60 * 60)
    found = [o.logical_time for o in next_after(timing, ZONES.load(name), after, 12)]
    assume(keeps_to_the_clock(timing, after, found[-1]))
    simulated = CronSim(text, after.astimezone(oracle.pinned(name)))
    wanted: list[datetime] = []
    while len(wanted) < 12:
        instant = next(simulated).astimezone(UTC)
        # Where several wall times collapse into one instant, cronsim names it several times.
        if instant not in wanted:
            wanted.append(instant)
    assert found == wanted
