"""What the ledger writes and reads, on both servers; one write decides who records a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread

import pytest

from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expected import owed
from cronledger.core.instants import to_epoch
from cronledger.core.plan import LeftOut, Reason
from cronledger.errors import StoreError
from cronledger.ports import Decision, Enqueue
from ledgers import World, file_text, minutes, time, window

HOURLY = "h: cron: '0 * * * *'"
QUEUES = "queues: {q: {max_attempts: 3, timeout: PT2M}}\n"


@pytest.fixture
def loaded(any_database: str, session_for: Callable[..., Session], zones: PinnedZones) -> World:
    """A ledger with one hourly schedule since midnight; it is 12:30."""
    world = World(session_for(any_database), zones)
    world.at("2026-03-01").load(HOURLY, "g: cron: '0 * * * *'")
    return world.at("2026-03-01T12:30")


def hours(world: World, *wanted: int, name: str = "h") -> Enqueue:
    """The occurrences of these hours, ready to write."""
    (standing,) = world.ledger.standings([name])
    epochs = [to_epoch(time(f"2026-03-01T{hour:02d}:00")) for hour in wanted]
    found = tuple(owed(standing.versions, epochs, world.zones.load))
    return Enqueue(standing.id, world.file.schedules[name].job, found)


def test_a_key_is_written_once_with_its_job(loaded: World) -> None:
    ledger = loaded.ledger
    assert list(ledger.enqueue_once([hours(loaded, 1, 2)], "tick").values()) == [
        [to_epoch(time("2026-03-01T01:00")), to_epoch(time("2026-03-01T02:00"))]
    ]
    assert list(ledger.enqueue_once([hours(loaded, 1, 2, 3)], "tick").values()) == [
        [to_epoch(time("2026-03-01T03:00"))]
    ]
    rows = loaded.sql(
        "select o.key, j.key as job_key, j.state, j.eligible_at, j.run_at"
        " from cronledger.occurrences o join cronledger.jobs j on j.id = o.job_id order by 1"
    )
    assert [row["key"] for row in rows] == minutes("h", "2026-03-01T01:00", 3, 3600)
    assert all(row["key"] == row["job_key"] and row["state"] == "eligible" for row in rows)
    assert {row["eligible_at"] for row in rows} == {time("2026-03-01T12:30")}
    assert rows[0]["run_at"] == time("2026-03-01T01:00")


def test_a_key_that_stands_twice_in_a_batch_is_written_once(loaded: World) -> None:
    (id_,) = {hours(loaded, 1).schedule_id}
    item = hours(loaded, 1)
    double = Enqueue(id_, item.job, item.owed * 2)
    assert list(loaded.ledger.enqueue_once([double], "tick").values()) == [
        [to_epoch(time("2026-03-01T01:00"))]
    ]
    assert loaded.counted("cronledger_jobs_created_total") == 1


def test_a_key_of_the_future_waits_until_it_is_due(loaded: World) -> None:
    loaded.ledger.enqueue_once([hours(loaded, 13)], "tick")
    (row,) = loaded.sql("select state, eligible_at from cronledger.jobs")
    assert tuple(row.values()) == ("scheduled", time("2026-03-01T13:00"))
    loaded.at("2026-03-01T13:00")
    assert loaded.sql("select state from cronledger.jobs")[0]["state"] == "eligible"


def test_a_job_has_its_own_limits_or_else_those_of_its_queue(loaded: World) -> None:
    loaded.load(
        f"{HOURLY}, job: {{kind: k, queue: q}}",
        "g: cron: '0 * * * *', job: {kind: k, queue: q, max_attempts: 9, timeout: PT9M,"
        " priority: 7}",
        queues=QUEUES,
    )
    loaded.ledger.enqueue_once([hours(loaded, 1), hours(loaded, 1, name="g")], "tick")
    rows = loaded.sql(
        "select max_attempts, timeout, priority from cronledger.job order by max_attempts"
    )
    assert [tuple(row.values()) for row in rows] == [
        (3, timedelta(minutes=2), 0),
        (9, timedelta(minutes=9), 7),
    ]


def test_writers_that_race_over_the_same_keys_write_each_once(
    loaded: World, any_database: str, session_for: Callable[..., Session]
) -> None:
    batch = [hours(loaded, *range(24)), hours(loaded, *range(24), name="g")]
    start = Barrier(6)
    written: list[int] = []
    worlds = [World(session_for(any_database), loaded.zones) for _ in range(6)]

    def write(world: World, order: int) -> None:
        start.wait()
        found = world.ledger.enqueue_once(batch[::order], "tick")
        written.extend(epoch for epochs in found.values() for epoch in epochs)

    threads = [Thread(target=write, args=(w, (-1) ** n)) for n, w in enumerate(worlds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 48
    assert len(loaded.recorded()) == 48
    assert loaded.counted("cronledger_occurrences_recorded_total") == 48


def test_answers_are_by_schedule_and_in_order(loaded: World) -> None:
    h, g = hours(loaded, 5, 1, 3), hours(loaded, 2, name="g")
    loaded.ledger.enqueue_once([h, g], "tick")
    span = window("2026-03-01T01:00", "2026-03-01T05:00")
    found = loaded.ledger.recorded([(h.schedule_id, span), (g.schedule_id, span)])
    assert found == {
        h.schedule_id: [to_epoch(time(f"2026-03-01T0{hour}:00")) for hour in (1, 3)],
        g.schedule_id: [to_epoch(time("2026-03-01T02:00"))],
    }
    assert loaded.ledger.orphaned([(h.schedule_id, span)]) == {}


def test_ranges_are_found_when_they_touch_a_window(loaded: World) -> None:
    id_ = hours(loaded, 1).schedule_id
    start, end = (to_epoch(time(f"2026-03-01T0{hour}:00")) for hour in (1, 3))
    span = LeftOut(start, end, Reason.COALESCED, 2)
    with loaded.ledger.deciding([id_]):
        loaded.ledger.decided([Decision(id_, (span,), 2)], time("2026-03-01T04:00"))

    def at(first: str, last: str) -> list[LeftOut]:
        return list(
            loaded.ledger.left_out(
                [(id_, window(f"2026-03-01T{first}", f"2026-03-01T{last}"))]
            ).get(id_, [])
        )

    assert at("02:00", "02:01") == [span]
    assert at("00:00", "01:00") == []
    assert at("03:00", "04:00") == []
    assert at("00:00", "01:00:01") == [span]


def test_how_far_was_decided_never_goes_back(loaded: World) -> None:
    (standing,) = loaded.ledger.standings(["h"])
    for moment in ("2026-03-01T05:00", "2026-03-01T04:00"):
        with loaded.ledger.deciding([standing.id]):
            loaded.ledger.decided([Decision(standing.id, (), 0)], time(moment))
    assert loaded.ledger.standings(["h"])[0].decided_to == time("2026-03-01T05:00")


def test_a_decision_that_fails_leaves_no_trace(loaded: World) -> None:
    item = hours(loaded, 1)

    def decide() -> None:
        with loaded.ledger.deciding([item.schedule_id]):
            loaded.ledger.enqueue_once([item], "tick")
            loaded.sql("select 1 / 0")

    with pytest.raises(StoreError):
        decide()
    assert loaded.recorded() == []
    assert loaded.counted("cronledger_jobs_created_total") == 0


def test_only_one_process_at_a_time_decides_on_a_schedule(
    loaded: World, any_database: str, session_for: Callable[..., Session]
) -> None:
    (h,), (g,) = loaded.ledger.standings(["h"]), loaded.ledger.standings(["g"])
    soon = timedelta(milliseconds=50)
    other = World(session_for(any_database), loaded.zones, patience=soon)
    with loaded.ledger.deciding([h.id]):
        with other.ledger.deciding([g.id]) as free:
            assert list(free) == [g.id]
        with pytest.raises(StoreError) as refused, other.ledger.deciding([g.id, h.id]):
            raise AssertionError("two decided at once")
    assert refused.value.sqlstate == "55P03"


def test_a_clock_change_is_told_with_the_key(
    any_database: str, session_for: Callable[..., Session], zones: PinnedZones
) -> None:
    world = World(session_for(any_database), zones).at("2026-03-28T00:00")
    world.load("d: cron: '30 2 * * *', timezone: Europe/Berlin, catchup: {policy: all}")
    world.at("2026-03-29T01:00:05").tick()
    rows = world.sql(
        "select key, local_time::text, moved, fold, collapsed, version, tzdata"
        " from cronledger.occurrences order by 1 desc"
    )
    assert tuple(rows[0].values()) == (
        "d:2026-03-29T01:00:00Z", "2026-03-29 03:00:00", True, False, 1, 1, zones.version,
    )  # fmt: skip


def test_the_helper_writes_files_that_people_could_write() -> None:
    assert file_text(HOURLY) == (
        "version: 1\nschedules:\n  h: {cron: '0 * * * *', job: {kind: k}}\n"
    )
