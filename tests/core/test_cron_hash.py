"""`H` in a cron: stable, within bounds, spread over schedules, and shown resolved."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.cron import Cron, CronError, Layout, parse

IDS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,62}", fullmatch=True)


def test_an_h_is_the_same_for_ever_and_shown_resolved() -> None:
    # These values stand in ledgers: they may never change.
    assert parse("H H(0-7) * * *", seed="nightly").text == "48 0 * * *"
    assert parse("H/15 * * * *", seed="nightly").text == "3-59/15 * * * *"
    assert parse("H(0-29)/10 * H * H", seed="nightly").text == "8-29/10 * 26 * 2"
    assert parse("0 0 * * H,MON", seed="nightly") == parse("0 0 * * 2,MON")


def test_an_h_is_read_as_the_value_that_it_is_shown_as() -> None:
    found = parse("H H/6 * * *", seed="nightly")
    assert found == parse(found.text)
    assert not found.hour_starred


@given(IDS)
def test_an_h_lies_in_its_bounds(seed: str) -> None:
    found = parse("H H H H H H", Layout.SECONDS, seed)
    fields = (found.seconds, found.minutes, found.hours, found.days, found.months, found.weekdays)
    bounds = ((0, 59), (0, 59), (0, 23), (1, 28), (1, 12), (0, 6))
    for values, (low, high) in zip(fields, bounds, strict=True):
        (value,) = values
        assert low <= value <= high
    part = parse("H(20-29) H(3-3) * * *", seed=seed)
    assert (20 <= part.minutes[0] <= 29, part.hours) == (True, (3,))


@given(IDS, st.integers(1, 100))
def test_an_h_with_a_step_begins_within_the_step(seed: str, step: int) -> None:
    minutes = parse(f"H/{step} * * * *", seed=seed).minutes
    assert minutes[0] < min(step, 60)
    assert minutes == tuple(range(minutes[0], 60, step))


def test_a_thousand_schedules_are_spread_over_every_minute() -> None:
    loads = Counter(parse("H * * * *", seed=f"job-{n}").minutes[0] for n in range(1000))
    assert set(loads) == set(range(60))
    assert max(loads.values()) < 40


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("H-3 * * * *", 0, "cannot read 'H-3' as minute; write H, H/15, H(0-29) or H(0-29)/10"),
        ("H(0) * * * *", 0, "write H, H/15"),
        ("0 H(7-3) * * *", 4, "7-3 is no span of hour; write H(0-23) or a part of it"),
        ("0 0 H(0-5) * *", 6, "write H(1-31) or a part of it"),
        ("H/0 * * * *", 2, "write H/5, say"),
        ("H,61 * * * *", 2, "minute 61 is out of bounds"),
        ("H H(0-7) * * MOO", 13, "did you mean MON?"),
        ("0 0,H,, * * *", 6, "remove a comma"),
    ],
)
def test_a_mistake_beside_an_h_keeps_its_column(text: str, column: int, message: str) -> None:
    with pytest.raises(CronError) as caught:
        parse(text, seed="nightly")
    assert (caught.value.column, message in caught.value.message) == (column, True)


def test_no_year_is_chosen_by_hash() -> None:
    with pytest.raises(CronError, match="H chooses no year; write"):
        parse("0 0 1 1 * H", Layout.YEAR, "nightly")


@given(st.text(st.sampled_from("Hh0123456789()/,-* THU"), max_size=30), IDS)
def test_any_text_with_h_is_read_or_refused_within_it(text: str, seed: str) -> None:
    found, column = read_or_refused(text, seed)
    assert found is None or Cron.from_spec(found.to_spec()) == found
    assert 0 <= column <= len(text)


def read_or_refused(text: str, seed: str) -> tuple[Cron | None, int]:
    """The cron, or the column at which it is refused."""
    try:
        return parse(text, seed=seed), 0
    except CronError as error:
        return None, error.column
