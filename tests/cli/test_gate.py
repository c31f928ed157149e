"""`reconcile --fail-on` as a gate after a deployment: yes, no, and "this cannot tell"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commands import Answer, Cli, process
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from cronledger.core.instants import format_instant
from cronledger.core.lifecycle import Failure
from ledgers import World, file_text
from report_samples import words_of

ALL = "catchup: {policy: all, window: P30D, max: 100000}"
MINUTE = f"m: cron: '* * * * *', {ALL}"
HOURLY = f"h: cron: '0 * * * *', {ALL}"
DAY = timedelta(days=1)


class Place:
    """A file and a database that knew it for three days; `gate` asks about the last day."""

    def __init__(self, cli: Cli, world: World, database: str, file: Path) -> None:
        self.cli, self.world, self.database, self.file = cli, world, database, file
        self.now: datetime = world.now

    def write(self, *lines: str) -> None:
        self.file.write_text(file_text(*lines))

    def tick(self, ago: timedelta = timedelta(0)) -> None:
        at = ("--at", format_instant(self.now - ago)) if ago else ()
        told = self.cli("tick", self.file, "--database", self.database, *at)
        assert told.code == 0, told.err

    def gate(self, *arguments: str, since: str = "24h") -> Answer:
        return self.cli(
            "reconcile", self.file, *arguments, "--database", self.database,
            "--since", since, "--fail-on", "missing,dead",
        )  # fmt: skip


@pytest.fixture
def place(
    cli: Cli,
    database: str,
    session_for: Callable[..., Session],
    zones: PinnedZones,
    tmp_path: Path,
) -> Place:
    return Place(cli, World(session_for(database), zones), database, tmp_path / "schedules.yaml")


@pytest.fixture
def green(place: Place) -> Place:
    """Two schedules, loaded three days ago, and a pass just now."""
    place.write(MINUTE, HOURLY)
    place.tick(3 * DAY)
    place.tick()
    return place


def test_fine_is_said_with_what_it_rests_on(green: Place) -> None:
    told = green.gate()
    assert told.code == 0, told.err
    assert told.err.startswith("fine: no missing, no dead key in 2 schedules; the last pass was ")


def test_a_gap_is_named_and_its_command_fills_it(green: Place) -> None:
    lost = [key for key in green.world.recorded() if key.startswith("h:")][-7:-4]
    green.world.lose(*lost)
    told = green.gate()
    assert told.code == 1
    head, keys, command = told.err.splitlines()
    assert head == "not fine: 3 missing"
    assert keys == f"  missing  {lost[0]} and 2 more to {lost[-1].partition(':')[2]}"
    fill = words_of(command.removeprefix("fill what is missing: "))[1:]
    done = process(*fill, "--apply", "--reason", "lost in a restore",
                   CRONLEDGER_DATABASE_URL=green.database)  # fmt: skip
    assert done.code == 0, done.err
    assert green.gate().code == 0
    assert set(lost) <= set(green.world.recorded())


def test_ten_places_are_named_and_the_rest_is_said(green: Place) -> None:
    recorded = [key for key in green.world.recorded() if key.startswith("m:")]
    green.world.lose(*recorded[-100:-40:2])
    lines = green.gate().err.splitlines()
    assert lines[0] == "not fine: 30 missing"
    assert [line.split()[0] for line in lines[1:11]] == ["missing"] * 10
    assert lines[11] == "  and more; -o json lists all"


def test_a_dead_key_fails_the_gate_and_says_where_to_look(green: Place) -> None:
    key = [key for key in green.world.recorded() if key.startswith("h:")][-3]
    queue = PostgresQueue(green.world.session)
    lease = next(lease for lease in queue.claim(["default"], ["k"], 5000, "w") if lease.key == key)
    queue.fail(lease, Failure("Gone", "no such tenant", retryable=False))
    told = green.gate()
    assert told.code == 1
    assert told.err.splitlines() == [
        "not fine: 1 dead",
        f"  dead     {key}",
        "look at the dead: cronledger dead list",
    ]


def test_a_class_that_has_no_command_of_its_own_is_explained(green: Place) -> None:
    key = [key for key in green.world.recorded() if key.startswith("h:")][-3]
    green.world.sql("delete from cronledger.job where key = %(key)s", key=key)
    told = green.cli("reconcile", green.file, "--database", green.database, "--since", "24h",
                     "--fail-on", "orphaned")  # fmt: skip
    assert told.code == 1
    command = told.err.splitlines()[-1].removeprefix("why it is orphaned: ")
    explained = process(*words_of(command)[1:], CRONLEDGER_DATABASE_URL=green.database)
    assert explained.out.startswith(f"{key}: orphaned")


def test_a_ledger_that_nothing_was_loaded_into_cannot_tell(place: Place) -> None:
    place.write(MINUTE)
    told = place.gate()
    assert told.code == 3
    assert "nothing was ever loaded" in told.err


def test_a_schedule_that_the_ledger_lacks_is_named(green: Place) -> None:
    green.write(MINUTE, HOURLY, "new: cron: '0 0 * * *'")
    told = green.gate()
    assert told.code == 3
    assert "  never loaded: new" in told.err.splitlines()
    assert green.gate("m", "h").code == 0


def test_a_schedule_that_did_not_fall_due_for_an_interval_is_named(place: Place) -> None:
    other_month = place.now.month % 12 + 1
    place.write(MINUTE, HOURLY, f"yearly: cron: '0 0 15 {other_month} *'")
    place.tick(3 * DAY)
    place.tick()
    told = place.gate()
    assert told.code == 3
    assert "no whole interval of 1 of 3 schedules lies between" in told.err
    assert "    yearly: nothing was due; next 20" in told.err
    assert place.gate("m", "h").code == 0
    short = place.gate("m", "h", since="30m")
    assert short.code == 3
    assert "    h: " in short.err
    assert "    m: " not in short.err


def test_records_without_a_pass_in_the_window_cannot_tell(place: Place) -> None:
    """Another scheduler goes on to report, and nobody of ours has looked since."""
    place.write("legacy: cron: '0 * * * *', grace: P1D, managed_by: pg_cron")
    place.tick(3 * DAY)
    hour = place.now.replace(minute=0, second=0, microsecond=0)
    place.world.sql(
        "select cronledger.record_external('legacy', %(times)s::timestamptz[])",
        times=[hour - timedelta(hours=n) for n in range(24)],
    )
    told = place.gate()
    assert told.code == 3
    assert "no sidecar and no `tick` has looked since" in told.err
    assert f"(the last time: {format_instant(place.now - 3 * DAY)})" in told.err
    place.world.ledger.reconciled()
    assert place.gate().code == 0


def test_no_is_said_before_cannot_tell(place: Place) -> None:
    place.write(MINUTE, "yearly: cron: '0 0 1 1 *'")
    place.tick(3 * DAY)
    place.tick()
    place.world.lose([key for key in place.world.recorded() if key.startswith("m:")][-30])
    assert place.gate().code == 1


def test_machine_formats_keep_stdout_to_themselves(green: Place) -> None:
    told = green.cli("reconcile", green.file, "--database", green.database, "--since", "24h",
                     "--fail-on", "missing", "-o", "json")  # fmt: skip
    assert (told.code, told.json["summary"]["missing"]) == (0, 0)
    assert told.err.startswith("fine: ")


def test_without_fail_on_a_short_window_is_a_plain_report(place: Place) -> None:
    place.write(HOURLY)
    place.tick(3 * DAY)
    place.tick()
    told = place.cli("reconcile", place.file, "--database", place.database, "--since", "1s")
    assert (told.code, told.err) == (0, "")
