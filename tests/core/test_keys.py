"""The occurrence key: spelled, read back, ordered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.keys import SCHEDULE_ID, OccurrenceKey

INSTANTS = st.datetimes(timezones=st.just(UTC)).map(lambda instant: instant.replace(microsecond=0))
IDS = st.from_regex(SCHEDULE_ID, fullmatch=True)
PREFIXES = st.one_of(IDS, st.tuples(IDS, st.just("[region=eu,shard=3]")).map("".join))


def test_a_key_is_the_schedule_and_its_utc_second() -> None:
    instant = datetime(2026, 8, 7, 2, 0, 0, tzinfo=UTC)
    assert str(OccurrenceKey("cleanup", instant)) == "cleanup:2026-08-07T02:00:00Z"


@given(PREFIXES, INSTANTS)
def test_a_key_is_read_back_as_it_was_spelled(prefix: str, instant: datetime) -> None:
    key = OccurrenceKey(prefix, instant)
    assert OccurrenceKey.parse(str(key)) == key


@given(IDS, INSTANTS, st.integers(1, 100_000))
def test_keys_of_a_schedule_sort_by_time_as_text_and_as_keys(
    schedule: str, instant: datetime, later: int
) -> None:
    if instant.year == 9999:
        instant = instant.replace(year=2026, day=1)
    keys = [OccurrenceKey(schedule, instant + timedelta(seconds=n)) for n in (0, later)]
    assert keys == sorted(keys)
    assert [str(key) for key in keys] == sorted(str(key) for key in keys)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cleanup",
        "cleanup:",
        "cleanup:2026-08-07",
        "cleanup:2026-08-07T02:00:00",
        "cleanup:2026-08-07T02:00:00+02:00",
        "cleanup:2026-08-07T02:00:00.5Z",
        "Cleanup:2026-08-07T02:00:00Z",
        "-cleanup:2026-08-07T02:00:00Z",
        "clean up:2026-08-07T02:00:00Z",
        f"{'a' * 64}:2026-08-07T02:00:00Z",
        "cleanup:2026-02-30T02:00:00Z",
        "cleanup:2026-08-07T02:00:00Z\n",
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a key such as cleanup:2026|is not a time"):
        OccurrenceKey.parse(text)
