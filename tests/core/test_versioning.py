"""An edit of the file and the ledger's versions: the past stays, the future is the file's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.versioning import Change, Held, Opening, Wanted, change

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = st.integers(0, 12).map(lambda n: START + timedelta(days=n))
HASHES = st.sampled_from("abc")


def day(number: int) -> datetime:
    return START + timedelta(days=number)


@st.composite
def ledgers(draw: st.DrawFn) -> list[Held]:
    """Versions as noting leaves them: in order, none open but the last, some withdrawn."""
    bounds = sorted(draw(st.sets(DAYS, min_size=1, max_size=6)))
    held = []
    for number, begin in enumerate(bounds, 1):
        following = bounds[number] if number < len(bounds) else None
        ends = draw(st.sampled_from([begin, following, following]))
        held.append(Held(number, begin, ends, draw(HASHES)))
    return held


@st.composite
def files(draw: st.DrawFn) -> list[Wanted]:
    return [Wanted(at, draw(HASHES)) for at in sorted(draw(st.sets(DAYS, max_size=5)))]


def after(held: list[Held], wanted: list[Wanted], done: Change) -> list[Held]:
    """The versions once the change is made."""
    ends = dict(done.ends)
    old = [replace(v, effective_to=ends.get(v.number, v.effective_to)) for v in held]
    new = [
        Held(100 + o.index, o.effective_from, o.effective_to, wanted[o.index].timing_hash)
        for o in done.opens
    ]
    return old + new


def of_ledger(held: list[Held], at: datetime) -> list[str]:
    """What is in force at an instant; more than one would be a fault."""
    return [
        v.timing_hash
        for v in held
        if v.effective_from <= at and (v.effective_to is None or at < v.effective_to)
    ]


def of_file(wanted: list[Wanted], at: datetime) -> list[str]:
    return [v.timing_hash for v in wanted if v.effective_from <= at][-1:]


@given(ledgers(), files(), DAYS)
def test_an_edit_changes_nothing_before_its_moment_and_everything_after(
    held: list[Held], wanted: list[Wanted], moment: datetime
) -> None:
    found = after(held, wanted, change(held, wanted, moment))
    for hours in range(0, 14 * 24, 12):
        at = START + timedelta(hours=hours)
        asked = of_ledger(held, at) if at < moment else of_file(wanted, at)
        assert of_ledger(found, at) == asked
    assert all(v.effective_to is None or v.effective_to >= v.effective_from for v in found)
    assert sum(v.effective_to is None for v in found) <= 1


@given(ledgers(), files(), DAYS, DAYS)
def test_the_same_file_changes_nothing_when_it_is_loaded_again(
    held: list[Held], wanted: list[Wanted], moment: datetime, later: datetime
) -> None:
    first, second = sorted([moment, later])
    found = after(held, wanted, change(held, wanted, first))
    assert not change(sorted(found, key=lambda v: (v.effective_from, v.number)), wanted, second)


def test_a_version_that_was_to_come_is_withdrawn_and_the_one_before_goes_on() -> None:
    held = [Held(1, day(0), day(5), "a"), Held(2, day(5), None, "b")]
    assert change(held, [Wanted(day(0), "a")], day(2)) == Change(((2, day(5)), (1, None)))


def test_a_version_that_is_to_come_opens_with_its_date_and_ends_the_one_before() -> None:
    held = [Held(1, day(0), None, "a")]
    wanted = [Wanted(day(0), "a"), Wanted(day(5), "b")]
    assert change(held, wanted, day(2)) == Change(((1, day(5)),), (Opening(1, day(5), None),))


def test_the_end_of_a_schedule_takes_what_was_to_come_with_it() -> None:
    held = [Held(1, day(0), day(5), "a"), Held(2, day(5), None, "b")]
    assert change(held, [], day(2)) == Change(((1, day(2)), (2, day(5))))


def test_neighbours_that_owe_the_same_are_one_version() -> None:
    held = [Held(1, day(0), None, "a")]
    assert not change(held, [Wanted(day(0), "a"), Wanted(day(3), "a")], day(1))
