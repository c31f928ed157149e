"""Ten processes tick the same day of 200 schedules, three are killed: every key exactly once."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event

import psycopg

from commands import PROGRAM, environment, process, until
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from ledgers import World, file_text

PROCESSES, KILLED, SCHEDULES = 10, 3, 200
LOADED, NOW = "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"  # across a clock change of Berlin
CATCHUP = "catchup: {policy: all, window: P2D, max: 100000}"


def schedules(draw: Random) -> list[str]:
    """Cadences from every five minutes to daily, in three zones, by minutes drawn at random."""
    found = []
    for number in range(SCHEDULES):
        minute, hour = draw.randrange(60), draw.randrange(24)
        cron = draw.choice(
            [f"{minute % 5}-59/5 * * * *", "*/10 * * * *", f"{minute} * * * *",
             f"{minute} */3 * * *", f"{minute} {hour} * * *"]
        )  # fmt: skip
        zone = draw.choice(["UTC", "Europe/Berlin", "America/New_York"])
        found.append(f"s{number:03d}: cron: '{cron}', timezone: {zone}, {CATCHUP}")
    return found


def expected_keys(file: Path) -> list[str]:
    """What `expand` owes after the load until now; both ends of a tick's reach are due."""
    answer = process("expand", file, "--from", LOADED, "--to", "2026-03-30T00:00:01Z",
                     "-o", "jsonl")  # fmt: skip
    return sorted(line["key"] for line in answer.lines)


def wait_until_one_has_written(world: World) -> None:
    """Blocks until some tick sits in its transaction, seen as a lock on the occurrences."""
    until(
        lambda: world.sql(
            "select 1 as found from pg_locks where relation = 'cronledger.occurrence'::regclass"
            " and mode = 'RowExclusiveLock'"
        ),
        "a tick writes",
    )


@contextmanager
def blocked(database: str) -> Iterator[None]:
    """Holds a lock on the occurrences, so that whoever wants to write them waits."""
    with psycopg.connect(database) as connection:
        connection.execute("lock table cronledger.occurrence in share row exclusive mode")
        yield


def verify(world: World, file: Path) -> None:
    """Each expected key has one occurrence and one job, and the counters agree with the rows."""
    wanted = expected_keys(file)
    assert len(wanted) > 10_000
    assert world.recorded() == wanted
    jobs = world.sql("select key from cronledger.jobs where state = 'eligible' order by key")
    assert [row["key"] for row in jobs] == wanted
    assert world.sql(
        "select o.job_id from cronledger.occurrence o left join cronledger.job j on j.id = o.job_id"
        " where j.id is null or j.logical_time <> o.logical_time"
    ) == []  # fmt: skip
    for metric in ("occurrences_recorded", "occurrences_expected", "jobs_created"):
        assert world.counted(f"cronledger_{metric}_total") == len(wanted), metric
    assert world.left_out() == []


def test_every_key_is_enqueued_exactly_once_by_ten_ticks_of_which_three_are_killed(
    any_database: str, session_for: Callable[..., Session], zones: PinnedZones, tmp_path: Path
) -> None:
    draw = Random(20260329)
    file = tmp_path / "schedules.yaml"
    file.write_text(file_text(*schedules(draw)), encoding="utf-8")
    world = World(session_for(any_database), zones)
    loaded = process("tick", file, "--at", LOADED, "--database", any_database)
    assert loaded.code == 0, loaded.err
    command = [*PROGRAM, "tick", str(file), "--at", NOW, "--database", any_database]
    with blocked(any_database):  # the first one is killed while it writes, for certain
        ticks = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             env=environment())
            for _ in range(PROCESSES)
        ]  # fmt: skip
        wait_until_one_has_written(world)
        victims = draw.sample(ticks, KILLED)
        for victim in victims[:-1]:
            Event().wait(draw.uniform(0, 0.3))
            victim.kill()
    Event().wait(draw.uniform(0, 0.2))  # the others go on; one more dies among them
    victims[-1].kill()
    said = [tick.communicate(timeout=120)[1].decode() for tick in ticks]
    codes = [tick.returncode for tick in ticks]
    assert codes.count(-signal.SIGKILL) >= KILLED - 1, codes
    assert all(tick in victims or tick.returncode == 0 for tick in ticks), said
    verify(world, file)


def test_a_lone_tick_that_is_killed_while_it_writes_leaves_nothing_half_done(
    any_database: str, session_for: Callable[..., Session], zones: PinnedZones, tmp_path: Path
) -> None:
    file = tmp_path / "schedules.yaml"
    file.write_text(file_text(*schedules(Random(7))), encoding="utf-8")
    world = World(session_for(any_database), zones)
    assert process("tick", file, "--at", LOADED, "--database", any_database).code == 0
    before = world.recorded()
    command = [*PROGRAM, "tick", str(file), "--at", NOW, "--database", any_database]
    with blocked(any_database):
        tick = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
        wait_until_one_has_written(world)
        tick.kill()
        assert tick.wait(30) == -signal.SIGKILL
    assert world.recorded() == before
    again = process("tick", file, "--at", NOW, "--database", any_database, "-o", "jsonl")
    assert again.code == 0, again.err
    verify(world, file)
