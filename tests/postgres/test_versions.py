"""Effective-dated versions: who opens one, from when, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread

import pytest

from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.instants import format_instant
from cronledger.core.spec import timing_hash
from cronledger.errors import RefusedError
from ledgers import World, time

HOURLY, DAILY = "h: cron: '0 * * * *'", "h: cron: '0 0 * * *'"


def versions(world: World, name: str = "h") -> list[tuple[int, str, str | None]]:
    rows = world.sql(
        "select number, effective_from, effective_to from cronledger.schedule_version v"
        " join cronledger.schedule s on s.id = v.schedule_id where name = %(n)s order by 1",
        n=name,
    )
    return [
        (
            row["number"],
            format_instant(row["effective_from"]),
            format_instant(row["effective_to"]) if row["effective_to"] else None,
        )
        for row in rows
    ]


def test_an_edit_ends_one_version_where_the_next_begins(world: World) -> None:
    world.at("2026-03-01").load(HOURLY)
    world.at("2026-03-02").load(DAILY)
    world.at("2026-03-03").load(HOURLY)
    assert versions(world) == [
        (1, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
        (2, "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"),
        (3, "2026-03-03T00:00:00Z", None),
    ]


def test_loading_the_same_file_again_changes_nothing(world: World) -> None:
    assert world.at("2026-03-01").load(HOURLY).opened == ("h",)
    assert world.at("2026-03-02").load(HOURLY).opened == ()
    assert versions(world) == [(1, "2026-03-01T00:00:00Z", None)]


def test_what_is_stored_gives_the_timing_back(world: World) -> None:
    world.at("2026-03-01").load(
        "h: cron: {expr: '*/10 0 2 L * *', fields: 6s}, timezone: Australia/Lord_Howe,"
        " dst: literal, start: '2026-01-01T00:00:00'"
    )
    (standing,) = world.ledger.standings(["h"])
    timing = world.file.schedules["h"].timing
    assert standing.versions[0].timing == timing
    (row,) = world.sql("select timing_hash, tzdata from cronledger.schedule_version")
    assert row == {"timing_hash": timing_hash(timing), "tzdata": world.zones.version}


def test_a_schedule_that_comes_back_leaves_a_gap_between_its_versions(world: World) -> None:
    other = "o: cron: '0 0 * * *'"
    world.at("2026-03-01").load(HOURLY, other)
    assert world.at("2026-03-02").load(other).ended == ("h",)
    assert world.at("2026-03-03").load(other).ended == ()
    world.at("2026-03-04").load(HOURLY, other)
    assert versions(world) == [
        (1, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
        (2, "2026-03-04T00:00:00Z", None),
    ]
    assert versions(world, "o") == [(1, "2026-03-01T00:00:00Z", None)]


@pytest.mark.parametrize("lines", [[DAILY], ["o: cron: '0 0 * * *'"]])
def test_a_moment_before_a_version_it_follows_is_refused(world: World, lines: list[str]) -> None:
    world.at("2026-03-05").load(HOURLY)
    with pytest.raises(RefusedError, match=r"2026-03-05T00:00:00Z.*later --at"):
        world.load(*lines, at="2026-03-04")
    assert versions(world) == [(1, "2026-03-05T00:00:00Z", None)]
    assert world.ledger.standings(["o"]) == ()


def test_a_schedule_that_ended_is_not_opened_again_before_its_end(world: World) -> None:
    other = "o: cron: '0 0 * * *'"
    world.at("2026-03-01").load(HOURLY, other)
    world.at("2026-03-05").load(other)
    with pytest.raises(RefusedError):
        world.load(HOURLY, other, at="2026-03-04")


def test_a_clock_that_was_set_back_still_opens_versions_in_order(world: World) -> None:
    world.at("2026-03-05").load(HOURLY)
    noted = world.at("2026-03-04").load(DAILY)
    assert noted.now == time("2026-03-05")
    assert versions(world) == [
        (1, "2026-03-05T00:00:00Z", "2026-03-05T00:00:00Z"),
        (2, "2026-03-05T00:00:00Z", None),
    ]


def test_two_edits_within_one_instant_leave_the_last_one_in_force(world: World) -> None:
    world.at("2026-03-05").load(HOURLY)
    world.load(DAILY)
    assert world.at("2026-03-06T00:00:01").enqueued() == ["h:2026-03-06T00:00:00Z"]


def test_queues_become_what_the_file_says(world: World) -> None:
    line = f"{HOURLY}, job: {{kind: k, queue: q}}"
    world.at("2026-03-01").load(line, queues="queues: {q: {max_attempts: 3}}\n")
    world.load(line, queues="queues: {q: {max_attempts: 4, objective: PT2M}}\n")
    (row,) = world.sql(
        "select max_attempts, objective::text from cronledger.queue where name = 'q'"
    )
    assert tuple(row.values()) == (4, "00:02:00")


def test_a_paused_queue_stays_paused_when_the_file_changes_it(world: World) -> None:
    line = f"{HOURLY}, job: {{kind: k, queue: q}}"
    world.at("2026-03-01").load(line)
    world.sql(
        "update cronledger.queue set paused_at = now(), paused_by = 'm', pause_reason = 'works'"
    )
    world.load(line, queues="queues: {q: {max_attempts: 4}}\n")
    assert world.sql("select paused_by from cronledger.queue where name = 'q'") == [
        {"paused_by": "m"}
    ]


def test_of_many_that_load_a_file_at_once_one_opens_its_versions(
    any_database: str, session_for: Callable[..., Session], zones: PinnedZones
) -> None:
    names = [f"s{n}" for n in range(50)]
    lines = [f"{name}: cron: '0 * * * *'" for name in names]
    worlds = [World(session_for(any_database), zones) for _ in range(6)]
    start, opened = Barrier(6), list[str]()

    def load(world: World, order: int) -> None:
        start.wait()
        opened.extend(world.load(*lines[::order]).opened)

    threads = [Thread(target=load, args=(w, (-1) ** n)) for n, w in enumerate(worlds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(opened) == sorted(names)
    assert [row["n"] for row in worlds[0].sql(
        "select count(*) as n from cronledger.schedule_version")] == [50]  # fmt: skip


def test_processes_with_different_files_at_once_leave_one_of_them_in_force(
    any_database: str, session_for: Callable[..., Session], zones: PinnedZones
) -> None:
    files = [[f"s{n}: cron: '0 * * * *'" for n in range(40) if n % 4 != i] for i in range(4)]
    worlds = [World(session_for(any_database), zones) for _ in files]
    start, done = Barrier(len(files)), list[int]()

    def load(world: World, lines: list[str]) -> None:
        start.wait()
        for _ in range(3):
            world.load(*lines)
        done.append(1)

    threads = [Thread(target=load, args=pair) for pair in zip(worlds, files, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(files), "one of them failed; its error is on stderr"
    in_force = worlds[0].sql(
        "select s.name from cronledger.schedule_version v join cronledger.schedule s"
        " on s.id = v.schedule_id where effective_to is null"
    )
    assert {row["name"] for row in in_force} in [{line[: line.index(":")] for line in lines}
                                                 for lines in files]  # fmt: skip


DATED = (
    "h: versions: [{cron: '0 * * * *'}, {effective_from: '2026-03-02', cron: '0 0 * * *'},"
    " {effective_from: '2026-03-04', cron: '30 0 * * *'}]"
)


def test_a_version_that_is_to_come_is_there_before_its_time_and_takes_over_at_it(
    world: World,
) -> None:
    world.at("2026-03-01T12:00").load(DATED)
    assert versions(world) == [
        (1, "2026-03-01T12:00:00Z", "2026-03-02T00:00:00Z"),
        (2, "2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z"),
        (3, "2026-03-04T00:00:00Z", None),
    ]
    assert world.at("2026-03-03T12:00").load(DATED).opened == ()
    owed = world.at("2026-03-05").classes("2026-03-01T22:00", "2026-03-05")
    assert [key[2:18] for key in owed] == [
        "2026-03-01T22:00",
        "2026-03-01T23:00",
        "2026-03-02T00:00",
        "2026-03-03T00:00",
        "2026-03-04T00:30",
    ]


def test_a_version_that_is_to_come_may_be_taken_back(world: World) -> None:
    world.at("2026-03-01").load(DATED)
    noted = world.at("2026-03-01T12:00").load("h: cron: '0 * * * *'")
    assert (noted.opened, noted.ended, noted.late) == ((), (), ())
    assert versions(world) == [
        (1, "2026-03-01T00:00:00Z", None),
        (2, "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z"),
        (3, "2026-03-04T00:00:00Z", "2026-03-04T00:00:00Z"),
    ]
    assert world.at("2026-03-02T13:00").load(DATED).late == ("h",)


def test_a_version_that_comes_late_holds_from_the_load_on_and_says_so(world: World) -> None:
    world.at("2026-03-01").load(HOURLY)
    noted = world.at("2026-03-03T12:00").load(DATED)
    assert (noted.opened, noted.late) == (("h",), ("h",))
    assert versions(world) == [
        (1, "2026-03-01T00:00:00Z", "2026-03-03T12:00:00Z"),
        (2, "2026-03-03T12:00:00Z", "2026-03-04T00:00:00Z"),
        (3, "2026-03-04T00:00:00Z", None),
    ]
    assert world.at("2026-03-03T13:00").load(DATED).late == ()


def test_the_dates_of_a_new_schedule_are_no_reason_to_speak(world: World) -> None:
    assert world.at("2026-03-05").load(DATED).late == ()
    assert versions(world) == [(1, "2026-03-05T00:00:00Z", None)]


def test_newer_zone_data_opens_a_version_only_where_it_moves_the_clock(world: World) -> None:
    berlin, paris = (
        f"{n}: cron: '0 9 * * *', timezone: Europe/{n.title()}" for n in ("berlin", "paris")
    )
    world.at("2026-03-01").load(berlin, paris)
    older(world, "Europe/Berlin", moved=True)
    older(world, "Europe/Paris", moved=False)
    assert world.at("2026-03-02").load(berlin, paris).opened == ("berlin",)
    assert world.load(berlin, paris).opened == ()
    # The past goes by the rules that were known then: an hour off.
    assert list(world.at("2026-03-03").classes("2026-03-01", "2026-03-03")) == [
        "berlin:2026-03-01T09:00:00Z",
        "berlin:2026-03-02T08:00:00Z",
        "paris:2026-03-01T08:00:00Z",
        "paris:2026-03-02T08:00:00Z",
    ]


def test_older_zone_data_does_not_take_a_version_back(world: World) -> None:
    line = "h: cron: '0 9 * * *', timezone: Europe/Berlin"
    world.at("2026-03-01").load(line)
    older(world, "Europe/Berlin", moved=True, tzdata="2999a")
    assert world.at("2026-03-02").load(line).opened == ()
    assert list(world.classes("2026-03-01", "2026-03-02")) == ["h:2026-03-01T09:00:00Z"]


def older(world: World, name: str, *, moved: bool, tzdata: str = "2020a") -> None:
    """Let the versions of a zone stand as if they had been opened with other zone data."""
    other = "transitions = '{}', offsets = '{0}', " if moved else ""
    for table, values, column in (
        ("zone", f"{other}tzdata", "name"),
        ("schedule_version", "tzdata", "spec ->> 'timezone'"),
    ):
        world.sql(
            f"update cronledger.{table} set {values} = %(v)s where {column} = %(name)s",
            v=tzdata,
            name=name,
        )
