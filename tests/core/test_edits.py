"""What an edit adds, removes and moves, and what it changes without touching a key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import parse
from cronledger.core.edits import Edit, Setting, compare_queues, compare_schedules
from cronledger.core.expand import instants
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import Catchup, Gap, JobSpec, Pause, QueueSpec, Schedule, Timing

ZONES = PinnedZones()
WINDOW = Window(datetime(2027, 3, 26, tzinfo=UTC), datetime(2027, 4, 2, tzinfo=UTC))


def schedule(text: str, zone: str = "Europe/Berlin", name: str = "job") -> Schedule:
    return Schedule(name, Timing(parse(text), zone), JobSpec("job"))


def edits(old: list[Schedule], new: list[Schedule]) -> list[Edit]:
    before, after = ({one.id: one for one in side} for side in (old, new))
    return list(compare_schedules(before, after, ZONES.load, WINDOW))


def edit(old: Schedule, new: Schedule) -> Edit:
    (found,) = edits([old], [new])
    return found


def test_the_same_file_is_no_edit() -> None:
    assert edits([schedule("0 9 * * *")], [schedule("0 9 * * *")]) == []


def test_a_new_schedule_adds_its_keys_and_one_that_went_removes_them() -> None:
    old, new = schedule("0 9 * * *", name="old"), schedule("0 9 * * *", name="new")
    gone, come = edits([old], [new])
    assert (gone.schedule, gone.change, len(gone.removed)) == ("old", "removed", 7)
    assert (come.schedule, come.change, len(come.added)) == ("new", "added", 7)


def test_another_time_of_day_moves_each_key_of_each_day() -> None:
    found = edit(schedule("0 9 * * *"), schedule("30 17 * * *"))
    assert len(found.moved) == 7
    assert (found.added, found.removed) == ((), ())
    assert all(after - before == 8.5 * 3600 for before, after in found.moved)
    assert found.settings == (Setting("cron", "0 9 * * *", "30 17 * * *"),)


def test_another_day_is_a_key_less_and_a_key_more() -> None:
    found = edit(schedule("0 9 * * 1"), schedule("0 9 * * 2"))
    assert (len(found.removed), len(found.added), found.moved) == (1, 1, ())


def test_keys_that_stay_are_not_mentioned() -> None:
    found = edit(schedule("0 9 * * *"), schedule("0 9,17 * * *"))
    assert (len(found.added), found.removed, found.moved) == (7, (), ())


def test_more_keys_on_a_day_are_moved_first_and_then_added() -> None:
    found = edit(schedule("0 9 * * 1"), schedule("0 10,11 * * 1"))
    assert (len(found.moved), len(found.added)) == (1, 1)


def test_another_zone_moves_keys_by_the_day_of_each_clock() -> None:
    found = edit(schedule("0 9 * * *", "Asia/Tokyo"), schedule("0 9 * * *", "America/New_York"))
    assert len(found.moved) >= 6
    assert found.settings == (Setting("timezone", "Asia/Tokyo", "America/New_York"),)


def test_a_clock_change_policy_moves_the_one_key_it_is_about() -> None:
    old = schedule("30 2 * * *")
    new = replace(old, timing=replace(old.timing, dst=replace(old.timing.dst, gap=Gap.SHIFT)))
    found = edit(old, new)
    first, last = (from_epoch(at) for at in found.moved[0])
    assert len(found.moved) == 1
    assert (first.hour, first.minute, last.hour, last.minute) == (1, 0, 1, 30)
    assert [setting.name for setting in found.settings] == ["dst.gap"]


def test_what_moves_no_key_is_told_by_its_name_in_the_file() -> None:
    old = schedule("0 9 * * *")
    pause = Pause(WINDOW.start, None, "works")
    new = replace(
        old,
        job=replace(old.job, queue="slow"),
        grace=timedelta(minutes=9),
        catchup=Catchup(maximum=7),
        pauses=(pause,),
    )
    found = edit(old, new)
    assert (found.added, found.removed, found.moved) == ((), (), ())
    assert [setting.name for setting in found.settings] == [
        "job.queue",
        "grace",
        "catchup.max",
        "pause",
    ]


def test_a_cron_spelled_otherwise_moves_nothing_and_is_told() -> None:
    found = edit(schedule("0 9 * * 1-5"), schedule("0 9 * * mon-fri"))
    assert (found.added, found.removed, found.moved) == ((), (), ())
    assert [setting.name for setting in found.settings] == ["cron"]


def test_queues_are_compared_as_well() -> None:
    mail = QueueSpec("mail")
    old = {"mail": mail, "gone": QueueSpec("gone")}
    new = {"mail": replace(mail, max_attempts=3), "come": QueueSpec("come")}
    changes = [(found.queue, found.change) for found in compare_queues(old, new)]
    assert changes == [("mail", "changed"), ("gone", "removed"), ("come", "added")]


TEXTS = st.sampled_from(
    ["0 9 * * *", "0 9 * * 1-5", "30 2 * * *", "*/30 * * * *", "0 23 * * *", "5 0,12 * * *"]
)
NAMES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])


@given(TEXTS, NAMES, TEXTS, NAMES)
def test_an_edit_accounts_for_every_key_of_both_sides(
    old_text: str, old_zone: str, new_text: str, new_zone: str
) -> None:
    old, new = schedule(old_text, old_zone), schedule(new_text, new_zone)
    before, after = (
        set(instants(one.timing, ZONES.load(one.timing.timezone), WINDOW)) for one in (old, new)
    )
    found = edits([old], [new])
    one = found[0] if found else Edit("job", "changed")
    gone = {*one.removed, *(a for a, _ in one.moved)}
    come = {*one.added, *(b for _, b in one.moved)}
    assert gone == before - after
    assert come == after - before
    assert len(one.removed) + len(one.added) + 2 * len(one.moved) == len(before ^ after)
