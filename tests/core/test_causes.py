"""The likely cause of a key that nobody owes, for each thing that people do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronledger.adapters.zones import PinnedZones
from cronledger.core.causes import Cause, causes, namesakes
from cronledger.core.expected import Standing
from cronledger.core.instants import to_epoch
from cronledger.core.schedule import Timing, Version
from ledgers import schedule_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEGAN, EDITED = NOON - timedelta(days=30), NOON - timedelta(days=1)
ZONES = PinnedZones()


def timing(cron: str, zone: str = "UTC") -> Timing:
    return schedule_of(f"s: cron: '{cron}', timezone: {zone}").timing


def standing(name: str, *versions: tuple[Timing, datetime, datetime | None]) -> Standing:
    made = (Version(n, start, end, of) for n, (of, start, end) in enumerate(versions, 1))
    return Standing(sum(map(ord, name)), name, NOON, tuple(made))


def edited(old: Timing, new: Timing) -> Standing:
    return standing("s", (old, BEGAN, EDITED), (new, EDITED, None))


def cause(of: Standing, *known: Standing, at: datetime = NOON) -> Cause:
    epoch = to_epoch(at)
    return causes([epoch], of, known, ZONES.load)[epoch]


TOKYO = timing("0 21 * * *", "Asia/Tokyo")  # noon in UTC
NINE_IN_TOKYO = timing("0 21 * * *")
AT_NOON, AT_ONE = timing("0 12 * * *"), timing("0 13 * * *")


def test_the_zone_of_before_an_edit() -> None:
    assert cause(edited(TOKYO, NINE_IN_TOKYO)) is Cause.ZONE_EDIT


def test_the_expression_of_before_an_edit() -> None:
    assert cause(edited(AT_NOON, AT_ONE)) is Cause.EXPRESSION_EDIT


def test_both_at_once_are_an_edit_of_the_expression() -> None:
    assert cause(edited(TOKYO, AT_ONE)) is Cause.EXPRESSION_EDIT


def test_the_expression_of_after_an_edit_recorded_too_early() -> None:
    of = standing("s", (AT_ONE, BEGAN, NOON + timedelta(days=1)), (AT_NOON, NOON, None))
    assert cause(of) is Cause.EXPRESSION_EDIT


def test_a_time_that_no_version_ever_owed_is_somebody_elses() -> None:
    assert cause(edited(AT_ONE, AT_ONE)) is Cause.SECOND_PRODUCER


def test_a_key_after_the_end_is_somebody_elses() -> None:
    assert cause(standing("s", (AT_NOON, BEGAN, EDITED))) is Cause.SECOND_PRODUCER


def test_a_key_under_the_old_name_after_a_rename() -> None:
    old = standing("s", (AT_NOON, BEGAN, EDITED))
    new = standing("t", (AT_NOON, EDITED, None))
    assert cause(old, new) is Cause.RENAMED_SCHEDULE
    assert cause(new, old, at=EDITED - timedelta(days=3)) is Cause.RENAMED_SCHEDULE


def test_a_name_is_the_same_schedules_by_alias_or_by_what_ended_and_began_at_once() -> None:
    old = standing("s", (AT_NOON, BEGAN, EDITED))
    follows = standing("t", (AT_NOON, EDITED, None))
    another = standing("u", (AT_ONE, EDITED, None))
    later = standing("v", (AT_NOON, NOON, None))
    known = (old, follows, another, later)
    assert list(namesakes(old, known, {})) == [follows]
    assert list(namesakes(follows, known, {})) == [old]
    assert list(namesakes(old, known, {"s": "v", "v": "v"})) == [follows, later]
    assert list(namesakes(another, known, {})) == []


def test_an_open_schedule_is_followed_by_nobody() -> None:
    one, other = (standing(name, (AT_NOON, BEGAN, None)) for name in "ab")
    assert list(namesakes(one, (one, other), {})) == []


def test_each_cause_has_its_words() -> None:
    assert len({cause.words for cause in Cause}) == len(Cause)


@pytest.mark.parametrize("count", [0, 3])
def test_each_key_has_its_cause(count: int) -> None:
    of = edited(AT_NOON, AT_ONE)
    days = [to_epoch(NOON) + 86400 * day for day in range(count)]
    strange = [day + 7 for day in days]
    found = causes(sorted(days + strange), of, (), ZONES.load)
    assert found == dict.fromkeys(days, Cause.EXPRESSION_EDIT) | dict.fromkeys(
        strange, Cause.SECOND_PRODUCER
    )
