"""What operators type: jobs, dead letters, queues and the audit, on a real database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from commands import Answer, Cli
from cronledger import JobSpec, enqueue_once
from cronledger.adapters.postgres.session import Session
from cronledger.core.lifecycle import Failure
from workbench import Workbench

WHY = ("--reason", "the night shift asked for it", "--actor", "mia")


class Desk:
    """Commands over the database of a bench."""

    def __init__(self, cli: Cli, bench: Workbench) -> None:
        self.cli, self.bench = cli, bench

    def __call__(self, *arguments: str) -> Answer:
        return self.cli(*arguments, "--database", self.bench.dsn)


@pytest.fixture
def desk(cli: Cli, database: str, session_for: Callable[..., Session]) -> Desk:
    return Desk(cli, Workbench(database, session_for))


def dead_jobs(desk: Desk, *errors: str) -> list[int]:
    """Jobs that failed for good, each with its own class of error."""
    found = []
    for error in errors:
        (id_,) = desk.bench.enqueue()
        (lease,) = desk.bench.claim()
        desk.bench.queue.fail(lease, Failure(error, "it broke", retryable=False))
        found.append(id_)
    return found


def test_a_waiting_job_is_cancelled_with_a_reason_and_not_without(desk: Desk) -> None:
    (id_,) = desk.bench.enqueue()
    refused = desk("jobs", "cancel", str(id_))
    assert (refused.code, "--reason" in refused.err) == (2, True)
    answer = desk("jobs", "cancel", str(id_), *WHY)
    assert (answer.code, answer.out.startswith(f"{id_}: cancelled; this cannot")) == (0, True)
    again = desk("jobs", "retry", str(id_), *WHY)
    assert again.code == 4
    assert again.err == (
        f"job {id_} is cancelled, so it cannot be retried now; `jobs show` says where it stands\n"
    )
    assert desk("jobs", "cancel", "4711", *WHY).code == 2


def test_a_running_job_shows_its_lease_is_extended_and_taken_back(desk: Desk) -> None:
    (id_,) = desk.bench.enqueue()
    desk.bench.claim()
    assert "lease_expires_at" in desk("jobs", "show", str(id_)).out
    assert "leased until" in desk("jobs", "extend", str(id_), "--by", "2h", *WHY).out
    assert "eligible" in desk("jobs", "release", str(id_), *WHY).out
    assert desk("jobs", "extend", str(id_), "--by", "2h", *WHY).code == 4


def test_dead_letters_are_counted_first_and_replayed_at_a_pace(desk: Desk) -> None:
    ids = dead_jobs(desk, "Boom", "Boom", "Timeout")
    listed = desk("dead", "list", "--error-class", "Boom", "-o", "json")
    assert [row["id"] for row in listed.json["jobs"]] == ids[1::-1]
    dry = desk("dead", "replay", "--error-class", "Boom")
    assert dry.out.splitlines() == [
        "     2  default  work  Boom",
        "dry run: 2 would be replayed; add --apply and --reason to do it",
    ]
    assert desk.bench.states(ids) == ["dead"] * 3
    done = desk("dead", "replay", "--error-class", "Boom", "--per-minute", "1", "--apply", *WHY)
    assert done.out.endswith("2 replayed\n")
    assert desk.bench.states(ids) == ["eligible", "retrying", "dead"]


def test_a_discarded_letter_is_listed_only_when_asked_for(desk: Desk) -> None:
    (id_,) = dead_jobs(desk, "Boom")
    assert desk("dead", "discard", str(id_), "--apply", *WHY).code == 0
    assert "no dead letter" in desk("dead", "list").err
    assert str(id_) in desk("dead", "list", "--all").out
    assert desk("dead", "replay", str(id_), "--apply", *WHY).code == 0
    assert desk.bench.states([id_]) == ["eligible"]


def test_ids_and_filters_do_not_mix(desk: Desk) -> None:
    assert desk("dead", "replay", "1", "--kind", "work").code == 2


def test_a_queue_is_paused_listed_drained_and_resumed(desk: Desk) -> None:
    desk.bench.enqueue(jobs=2)
    (lease,) = desk.bench.claim()
    paused = desk("queue", "pause", "default", "--until", "30m", *WHY)
    assert paused.out.startswith("default: nothing is claimed until 2")
    assert desk.bench.claim() == []
    listed = desk("queue", "list", "-o", "json").json["queues"]
    assert [(row["state"], row["leased"], row["eligible"]) for row in listed] == [("paused", 1, 1)]
    busy = desk("queue", "drain", "default", "--wait", "--timeout", "1s", *WHY)
    assert (busy.code, busy.out) == (1, "default: paused, 1 still running\n")
    desk.bench.queue.complete([lease])
    assert desk("queue", "drain", "default", "--wait", *WHY).code == 0
    assert desk("queue", "resume", "default", *WHY).out == "default: resumed\n"
    assert desk("queue", "resume", "default", *WHY).out == "default: was not paused\n"
    assert desk("queue", "pause", "nowhere", *WHY).code == 2


def test_the_audit_says_who_did_what_to_what_and_why(desk: Desk) -> None:
    (id_,) = desk.bench.enqueue()
    desk("jobs", "cancel", str(id_), *WHY)
    desk("queue", "pause", "default", *WHY)
    listed = desk("audit", "list", "-o", "json").json["audit"]
    assert [(row["actor"], row["action"]) for row in listed] == [
        ("mia", "pause"),
        ("mia", "cancel"),
    ]
    assert listed[1]["detail"]["before"]["state"] == "eligible"
    assert "night shift" in desk("audit", "list", "--action", "cancel").out
    assert "no manual change" in desk("audit", "list", "--actor", "nobody").err


def test_a_crontab_is_imported_ticked_and_run(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crontab").write_text(
        "MAILTO=ops\n* * * * * echo $CRONLEDGER_KEY > out; cat%hello\n"
    )
    assert desk.cli("import", "crontab", "crontab", "--output", "schedules.yaml").code == 0
    assert desk("tick", "schedules.yaml").code == 0
    (name,) = (s["id"] for s in desk.bench.rows("select name as id from cronledger.schedule"
                                                " where name <> 'bench'"))  # fmt: skip
    assert desk("trigger", "schedules.yaml", name, *WHY).code == 0
    assert desk("work", "--exec", "--until-idle").code == 0
    (job,) = desk("jobs", "list", "-o", "json").json["jobs"]
    assert (job["kind"], job["state"]) == ("exec", "completed")
    shown = desk("jobs", "show", str(job["id"]), "-o", "json").json["jobs"][0]
    assert (shown["output"], shown["exit_status"]) == ("hello\n", 0)
    assert (tmp_path / "out").read_text() == f"{job['key']}\n"


def test_a_worker_has_handlers_or_commands(desk: Desk) -> None:
    assert desk("work", "--until-idle").code == 2


def test_an_effect_in_doubt_is_found_and_resolved(desk: Desk) -> None:
    (id_,) = desk.bench.enqueue()
    (lease,) = desk.bench.claim()
    fence = {"i": lease.job_id, "t": lease.token}
    desk.bench.rows("select cronledger.effect_begin(%(i)s, %(t)s, 'mail', 'f', null)", **fence)
    listed = desk("effects", "list", "--state", "started", "-o", "json").json["effects"]
    assert [(row["key"], row["effect"], row["job_id"]) for row in listed] == [
        (lease.key, "mail", id_)
    ]
    assert desk("effects", "resolve", lease.key, "mail", *WHY).code == 2  # which of the two?
    never = ("effects", "resolve", lease.key, "mail", "--never-happened")
    assert desk(*never, "--result", "{}", *WHY).code == 2
    happened = ("effects", "resolve", lease.key, "mail", "--happened")
    assert desk(*happened, "--result", "{not json", *WHY).code == 2
    done = desk(*happened, "--result", '{"message": "m-1"}', *WHY)
    assert done.out == f"mail of {lease.key}: committed\n"
    assert desk(*never, *WHY).code == 4  # there is nothing to decide any more
    assert desk("effects", "resolve", lease.key, "fax", "--happened", *WHY).code == 2
    (row,) = desk("effects", "list", "--key", lease.key, "-o", "json").json["effects"]
    assert (row["state"], row["result"]) == ("committed", {"message": "m-1"})
    assert "no receipt" in desk("effects", "list", "--state", "void").err
    assert desk("effects", "list", "--state", "asleep").code == 2
    assert desk("audit", "list", "-o", "json").json["audit"][0]["action"] == "resolve"


def test_prune_shows_first_and_then_does_it(desk: Desk) -> None:
    desk.bench.enqueue(jobs=3)
    desk.bench.queue.complete(desk.bench.claim(2))
    desk.bench.session.script("update cronledger.ledger set keep_jobs = '1 day'")
    shown = desk("prune")
    assert shown.out.splitlines()[0] == "        0  finished jobs"
    assert shown.out.endswith("dry run: add --apply to drop them\n")
    done = desk("prune", "--apply")
    assert done.out == "dropped 0 days and 0 single jobs, 0 keys, 0 receipts, 0 occurrences\n"


def test_every_key_that_is_printed_is_understood(desk: Desk) -> None:
    with psycopg.connect(desk.bench.dsn) as connection:
        produced = enqueue_once(connection, "order:7", JobSpec("work", max_attempts=1))
    shown = desk("jobs", "show", "order:7")
    assert str(produced.job_id) in shown.out
    assert "schema_version" in shown.out
    (lease,) = desk.bench.claim()
    desk.bench.queue.fail(lease, Failure("Boom", "it broke"))
    assert desk("dead", "replay", "order:7", "--apply", *WHY).out.endswith("1 replayed\n")
    missing = desk("jobs", "show", "order:8")
    assert (missing.code, "there is no job order:8" in missing.err) == (2, True)


def test_a_list_that_is_cut_off_says_so(desk: Desk) -> None:
    desk.bench.enqueue(jobs=3)
    assert "the newest 2 are shown" in desk("jobs", "list", "--limit", "2").err
    assert "are shown" not in desk("jobs", "list").err
