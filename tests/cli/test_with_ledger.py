"""The main job on the command line: tick, reconcile, backfill, and looking at single keys."""

from __future__ import annotations

import getpass
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from commands import Answer, Cli, process
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.zones import PinnedZones
from ledgers import World, file_text, minutes

ALL = "catchup: {policy: all, window: P400D, max: 100000}"
WINDOW = ("--from", "2026-03-01", "--to", "2026-03-02")
LOADED, TICKED = "2026-03-01T00:00:00Z", "2026-03-01T23:59:59Z"


class Place:
    """A file, a database, and the commands over them."""

    def __init__(self, cli: Cli, world: World, database: str, file: Path) -> None:
        self.cli, self.world, self.database, self.file = cli, world, database, file

    def __call__(self, command: str, *arguments: str, database: bool = True) -> Answer:
        chosen = ("--database", self.database) if database else ()
        return self.cli(command, self.file, *chosen, *arguments)


@pytest.fixture
def place(
    cli: Cli,
    database: str,
    session_for: Callable[..., Session],
    zones: PinnedZones,
    tmp_path: Path,
) -> Place:
    """Two schedules, ticked over a day of March 2026."""
    file = tmp_path / "schedules.yaml"
    file.write_text(file_text(f"h: cron: '0 * * * *', {ALL}", f"q: cron: '*/15 * * * *', {ALL}"))
    made = Place(cli, World(session_for(database), zones), database, file)
    for moment in (LOADED, TICKED):
        assert made("tick", "--at", moment).code == 0
    return made


def test_seven_lost_keys_are_named_filled_and_gone(place: Place) -> None:
    lost = sorted(Random(7).sample(place.world.recorded(), 7))
    place.world.lose(*lost)
    gone = process("reconcile", place.file, "--database", place.database, *WINDOW, "-o", "json")
    assert gone.code == 1, gone.err
    missing = [row for row in gone.json["occurrences"] if row["class"] == "missing"]
    assert sorted(row["key"] for row in missing) == lost
    assert gone.json["summary"]["missing"] == 7
    filled = process("backfill", place.file, *WINDOW, "--apply", "--reason", "lost in a restore",
                     "-o", "json", CRONLEDGER_DATABASE_URL=place.database)  # fmt: skip
    assert filled.code == 0, filled.err
    assert sorted(row["key"] for row in filled.json["occurrences"]) == lost
    after = process("reconcile", place.file, *WINDOW, "-o", "json", DATABASE_URL=place.database)
    assert after.code == 0, after.err
    assert after.json["summary"]["missing"] == 0
    assert len(place.world.recorded()) == 24 + 96


def test_tick_says_what_it_did(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    told = place("tick", "--at", TICKED, "-o", "json")
    assert told.json == {
        "schema_version": 1,
        "left_out": [],
        "occurrences": [
            {
                "key": "h:2026-03-01T05:00:00Z",
                "schedule": "h",
                "logical_time": "2026-03-01T05:00:00Z",
            }
        ],
    }
    again = place("tick", "--at", TICKED)
    assert (again.code, again.out, again.err) == (0, "enqueued 0 occurrences\n", "")


def test_tick_names_what_it_left_out(place: Place) -> None:
    place.file.write_text(file_text("h: cron: '0 * * * *'"))
    told = place("tick", "--at", "2026-03-02T12:30:00Z")
    assert told.out.splitlines() == [
        "enqueued 1 occurrence",
        "  h: 1, 2026-03-02T12:00:00Z to 2026-03-02T12:00:00Z",
        "  h: left out 12 (coalesced), 2026-03-02T00:00:00Z to 2026-03-02T11:00:00Z",
    ]
    assert told.err == "ended q\n"


def test_a_future_or_overtaken_moment_is_refused(place: Place) -> None:
    future = place("tick", "--at", "2999-01-01T00:00:00Z")
    assert future.code == 4
    assert "--allow-future" in future.err
    place.file.write_text(file_text("h: cron: '5 * * * *'"))
    early = place("tick", "--at", "2026-02-01")
    assert early.code == 4
    assert "later --at" in early.err


def test_an_allowed_future_moment_enqueues_ahead(place: Place) -> None:
    place.file.write_text(file_text("y: cron: '0 0 1 1 *'"))
    assert place("tick").code == 0
    told = place("tick", "--at", "2100-01-01", "--allow-future", "-o", "json")
    assert told.code == 0
    assert told.json["occurrences"][-1]["key"] == "y:2100-01-01T00:00:00Z"
    rows = place.world.sql("select state from cronledger.jobs where key = 'y:2100-01-01T00:00:00Z'")
    assert [row["state"] for row in rows] == ["scheduled"]


@pytest.mark.parametrize("option", ["--at", "--every"])
def test_tick_names_an_option_it_cannot_read(place: Place, option: str) -> None:
    answer = place("tick", option, "sometimes")
    assert answer.code == 2
    assert option in answer.err


@pytest.mark.parametrize("since", ["1x", "-1d", "99999999d", "99999999999999999d", ""])
def test_reconcile_names_a_span_it_cannot_use(place: Place, since: str) -> None:
    answer = place("reconcile", "--since", since)
    assert answer.code == 2
    assert "--since" in answer.err


def test_from_and_since_exclude_each_other(place: Place) -> None:
    assert place("reconcile", "--since", "1d", "--from", "2026-03-01").code == 2


def test_reconcile_fails_on_the_classes_that_are_named(place: Place) -> None:
    place.world.sql("delete from cronledger.job where key = 'h:2026-03-01T05:00:00Z'")
    assert place("reconcile", *WINDOW).code == 0
    assert place("reconcile", *WINDOW, "--fail-on", "missing,orphaned").code == 1
    wrong = place("reconcile", *WINDOW, "--fail-on", "mising")
    assert wrong.code == 2
    assert "missing" in wrong.err


def test_reconcile_shows_only_what_is_asked_for(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    only = place("reconcile", "h", *WINDOW, "--only", "missing", "-o", "jsonl")
    assert [line["key"] for line in only.lines] == ["h:2026-03-01T05:00:00Z"]
    assert only.code == 1
    other = place("reconcile", "q", *WINDOW, "--only", "missing", "-o", "json")
    assert (other.code, other.json["occurrences"]) == (0, [])


def test_reconcile_for_people_says_how_to_fill_the_gap(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    told = place("reconcile", *WINDOW, "--only", "missing")
    head, row, summary = told.out.splitlines()
    assert head.split()[:2] == ["KEY", "CLASS"]
    assert row.split()[:2] == ["h:2026-03-01T05:00:00Z", "missing"]
    assert "2 schedules, 120 expected, 119 recorded" in summary
    assert f"cronledger backfill {place.file} --from 2026-03-01T00:00:00Z" in told.err


def test_a_dry_run_shows_the_keys_and_writes_nothing(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    told = place("backfill", *WINDOW, "-o", "json")
    assert told.code == 0
    assert [(row["key"], row["applied"]) for row in told.json["occurrences"]] == [
        ("h:2026-03-01T05:00:00Z", False)
    ]
    assert "h:2026-03-01T05:00:00Z" not in place.world.recorded()
    assert "--apply" in place("backfill", *WINDOW).out


@pytest.mark.parametrize("reason", [(), ("--reason", "why"), ("--reason", "          ")])
def test_backfill_wants_a_reason_that_helps(place: Place, reason: tuple[str, ...]) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    answer = place("backfill", *WINDOW, "--apply", *reason)
    assert answer.code == 2
    assert "--reason" in answer.err
    assert "h:2026-03-01T05:00:00Z" not in place.world.recorded()


def test_backfill_notes_who_did_it(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z", "h:2026-03-01T06:00:00Z")
    for arguments in (("--limit", "1"), ("--actor", "mira")):
        assert place(
            "backfill", "h", *WINDOW, "--apply", "--reason", "INC-204 restore", *arguments
        ).code == 0  # fmt: skip
    rows = place.world.sql("select actor, detail from cronledger.audit order by id")
    assert [(row["actor"], row["detail"]["keys"]) for row in rows] == [
        (getpass.getuser(), ["h:2026-03-01T05:00:00Z"]),
        ("mira", ["h:2026-03-01T06:00:00Z"]),
    ]


def test_backfill_takes_omitted_keys_only_when_told(place: Place) -> None:
    place.file.write_text(file_text("h: cron: '0 * * * *', catchup: {policy: none}"))
    place("tick", "--at", "2026-03-02T04:30:00Z")
    window = ("--from", "2026-03-02", "--to", "2026-03-02T04:30")
    assert place("backfill", *window, "-o", "json").json["occurrences"] == []
    told = place("backfill", *window, "--include", "omitted", "-o", "jsonl")
    assert [line["key"] for line in told.lines] == minutes("h", "2026-03-02", 5, 3600)
    wrong = place("backfill", *window, "--include", "suppressed")
    assert wrong.code == 2
    assert "omitted" in wrong.err


def test_explain_tells_the_four_stages_of_a_key(place: Place) -> None:
    key, other = "h:2026-03-01T05:00:00Z", "h:2026-03-01T05:00:01Z"
    told = place.cli("explain", key, "--database", place.database)
    assert told.code == 0
    assert told.out.splitlines()[0].startswith(f"{key}: late, eligible, due ")
    for stage in ("recorded", "enqueued", "claimed", "effect committed"):
        assert stage in told.out
    row = place.cli("explain", key, "--database", place.database, "-o", "json").json
    assert row["occurrences"][0]["class"] == "late"
    place.world.lose(key)
    assert "missing" in place.cli("explain", key, "--database", place.database).out
    never = place.cli("explain", other, "--database", place.database)
    assert (never.code, "never owed" in never.out) == (1, True)
    assert place.cli("explain", "h:today", "--database", place.database).code == 2


def test_jobs_are_listed_and_shown_by_id_or_key(place: Place) -> None:
    base = ("--database", place.database)
    listed = place.cli("jobs", "list", *base, "--limit", "3", "-o", "json").json
    assert listed["schema_version"] == 1
    assert len(listed["jobs"]) == 3
    job = listed["jobs"][0]
    for which in (str(job["id"]), job["key"]):
        assert place.cli("jobs", "show", which, *base, "-o", "json").json["jobs"] == [job]
    assert place.cli("jobs", "list", *base, "--state", "dead").out == ""
    assert place.cli("jobs", "list", *base, "--state", "asleep").code == 2
    for nothing in ("999999999", "99999999999999999999999", "h:2026-03-01T05:00:01Z", "x"):
        assert place.cli("jobs", "show", nothing, *base).code == 2


def test_the_option_stands_above_the_environment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "postgresql://127.0.0.1:1/nowhere"
    monkeypatch.setenv("DATABASE_URL", nowhere)
    assert place("reconcile", *WINDOW, database=False).code == 3
    assert place("reconcile", *WINDOW).code == 0
    assert place.cli("--database", place.database, "reconcile", place.file, *WINDOW).code == 0
    monkeypatch.setenv("CRONLEDGER_DATABASE_URL", place.database)
    assert place("reconcile", *WINDOW, database=False).code == 0
    monkeypatch.setenv("CRONLEDGER_DATABASE_URL", nowhere)
    monkeypatch.setenv("DATABASE_URL", place.database)
    assert place("reconcile", *WINDOW, database=False).code == 3


def test_a_file_that_knows_none_of_many_schedules_is_refused(place: Place, tmp_path: Path) -> None:
    crowd = [f"s{n}: cron: '0 {n} * * *'" for n in range(3)]
    place.file.write_text(file_text(*crowd))
    assert place("tick").code == 0
    other = tmp_path / "other.yaml"
    other.write_text(file_text("x: cron: '0 0 * * *'"))
    told = place.cli("tick", other, "--database", place.database)
    assert (told.code, told.out) == (4, "")
    assert "none of the 3 schedules in force" in told.err
    assert "--replace" in told.err
    in_force = "select 1 from cronledger.schedule_version where effective_to is null"
    assert len(place.world.sql(in_force)) == 3
    assert place.cli("tick", other, "--database", place.database, "--replace").code == 0
    assert len(place.world.sql(in_force)) == 1


def test_a_renamed_crowd_is_no_other_file(place: Place) -> None:
    place.file.write_text(file_text(*[f"s{n}: cron: '0 {n} * * *'" for n in range(3)]))
    assert place("tick").code == 0
    place.file.write_text(file_text("t0: cron: '0 0 * * *', aliases: [s0]"))
    assert place("tick").code == 0


def test_explain_says_why_there_is_nothing_to_tell(place: Place) -> None:
    def explain(key: str) -> Answer:
        return place.cli("explain", place.file, key, "--database", place.database)

    unknown = explain("nosuch:2026-03-01T05:00:00Z")
    assert (unknown.code, "knows no schedule 'nosuch'" in unknown.err) == (2, True)
    ahead = explain("h:2099-03-01T05:00:00Z")
    assert (ahead.code, "due in" in ahead.out) == (0, True)
    place.file.write_text(file_text(f"h: cron: '0 * * * *', grace: P400D, {ALL}"))
    place.world.lose("h:2026-03-01T05:00:00Z")
    patient = explain("h:2026-03-01T05:00:00Z")
    assert (patient.code, "within its grace" in patient.out) == (0, True)


def test_the_summary_accounts_for_every_expected_key(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    place.file.write_text(file_text("h: cron: '0 * * * *', grace: P400D"))
    told = place("reconcile", "h", *WINDOW)
    assert told.code == 0
    assert "23 running (23 eligible), 1 not recorded and within grace" in told.out


def test_the_hint_fills_what_the_file_knows_and_says_so_of_the_rest(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    assert "fill what is missing: cronledger backfill" in place("reconcile", *WINDOW).err
    place.file.write_text(file_text(f"q: cron: '*/15 * * * *', {ALL}"))
    assert place("tick").code == 0
    gone = place("reconcile", *WINDOW)
    assert "fill what is missing" not in gone.err
    assert "h: not in" in gone.err
    assert place("reconcile", "h", *WINDOW).code == 1


def test_another_kind_of_database_is_refused_by_name(place: Place) -> None:
    told = place.cli("tick", place.file, "--database", "mysql://root:s3cret@localhost/x")
    assert (told.code, "write postgresql://" in told.err, "s3cret" in told.err) == (2, True, False)


BERLIN = "b: cron: '0 9 * * *', timezone: Europe/Berlin, catchup: {policy: none}"


def test_check_lists_the_keys_that_newer_zone_data_moves_and_loading_moves_them(
    place: Place,
) -> None:
    place.file.write_text(file_text(BERLIN))
    assert place("tick", "--replace").code == 0
    assert place("check", "--ledger", "--strict").code == 0
    place.world.sql(
        "update cronledger.zone set tzdata = '2020a', transitions = '{}', offsets = '{0}'"
    )
    place.world.sql("update cronledger.schedule_version set tzdata = '2020a'")
    answer = place("check", "--ledger", "--strict")
    assert answer.code == 1
    (line, _) = answer.out.splitlines()
    what = r"b: warning: zone data 2026f in place of 2020a moves 73[01] keys within 2 years"
    assert re.search(what, line)
    assert "T09:00:00Z to " in line
    assert "; load the file to follow it, or keep the older one [moved-keys]" in line
    assert place("check", "--strict").code == 0
    window = ("--from", "2027-07-01", "--to", "2027-07-03")
    moved = place("diff", "--ledger", *window)
    assert (moved.code, "b:2027-07-01T09:00:00Z -> 2027-07-01T07:00:00Z" in moved.out) == (1, True)
    assert place("tick").err.startswith("opened a version of b")
    assert place("check", "--ledger", "--strict").code == 0
    assert place("diff", "--ledger", *window).code == 0


def test_check_says_so_if_this_version_reads_an_expression_otherwise(place: Place) -> None:
    place.file.write_text(file_text(BERLIN))
    assert place("tick", "--replace").code == 0
    place.world.sql(
        "update cronledger.schedule_version set timing_hash = 'x',"
        " spec = jsonb_set(spec, '{cron,hours}', '[10]')"
        " where spec -> 'cron' ->> 'text' = '0 9 * * *'"
    )
    answer = place("check", "--ledger", "--strict")
    assert answer.code == 1
    assert "this version, which reads '0 9 * * *' otherwise, moves" in answer.out


def test_diff_against_the_ledger_names_what_ends_begins_and_moves(place: Place) -> None:
    place.file.write_text(file_text("h: cron: '5 * * * *'", "n: cron: '0 0 * * *'"))
    answer = place("diff", "--ledger", "--from", "2027-01-01", "--to", "2027-01-01T02:00")
    assert answer.code == 1
    assert answer.out.splitlines()[0] == "q: removed; keys: 8 removed"
    assert "h: changed; keys: 2 moved" in answer.out
    assert "n: added; keys: 1 added" in answer.out


def test_check_names_the_schedules_that_loading_the_file_ends(place: Place) -> None:
    place.file.write_text(file_text(f"h: cron: '0 * * * *', {ALL}"))
    answer = place("check", "--ledger", "--strict")
    assert answer.code == 1
    assert "warning: q: the ledger has it in force and this file does not" in answer.out
    assert place("check", "--strict").code == 0
    assert place("check", "--ledger", "--ignore", "ending-schedules", "--strict").code == 0
    place.file.write_text(
        file_text("h: cron: '0 * * * *'", "n: cron: '*/15 * * * *', aliases: [q]")
    )
    assert "warning: q:" not in place("check", "--ledger").out
    assert place("tick", "--replace").code == 0
    place.file.write_text(file_text("n: cron: '*/15 * * * *'"))
    ended = place("check", "--ledger").out
    assert ("warning: h:" in ended, "warning: q:" in ended) == (True, False), "q has ended already"


def test_backdate_shows_first_and_writes_with_a_reason(place: Place) -> None:
    dated = "effective_from: '2026-03-01T12:00', cron: '30 * * * *'"
    place.file.write_text(
        file_text(
            f"h: versions: [{{cron: '0 * * * *'}}, {{{dated}}}], {ALL}", "q: cron: '*/15 * * * *'"
        )
    )
    late = place("tick", "--at", "2026-03-01T23:59:59Z")
    assert "the file dates a version of h before this load; it is in force from" in late.err
    shown = place("backdate")
    assert (shown.code, "h: since 2026-03-01T12:00:00Z; keys: 12 moved" in shown.out) == (0, True)
    assert "dry run" in shown.out
    assert place("backdate", "--apply").code == 2
    assert place("backdate", "h", "--apply", "--reason", "the change came late").code == 0
    assert "change nothing" in place("backdate").out
    missing = place("reconcile", "h", *WINDOW)
    assert (missing.code, "12 missing" in missing.out, "12 unexpected" in missing.out) == (
        1,
        True,
        True,
    )


def test_every_form_of_the_report_tells_of_the_same_gap(place: Place) -> None:
    place.world.lose("h:2026-03-01T05:00:00Z")
    command = (
        f"cronledger backfill {place.file} h --from 2026-03-01T05:00:00Z --to 2026-03-01T05:00:01Z"
    )
    told = place("reconcile", *WINDOW, "-o", "json")
    assert told.json["schedules"]["h"]["gaps"][0]["command"] == command
    assert command in place("reconcile", *WINDOW, "-o", "markdown").out
    annotation = place("reconcile", *WINDOW, "-o", "github").out.splitlines()[0]
    assert annotation.startswith("::error file=")
    assert ",line=3,col=3,title=cronledger reconcile%3A h::1 missing" in annotation
    page = place("reconcile", *WINDOW, "-o", "html")
    assert (page.code, page.err) == (1, "")
    assert page.out.startswith('<!doctype html>\n<html lang="en">')
    assert "1 key, 1 Mar 2026, 05:00" in page.out
