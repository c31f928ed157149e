"""What operators type about chunks, on a real database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands import Answer, Cli
from cronledger.adapters.postgres.chunks import PostgresSplits
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.core.chunks import Chunk, ChunkWork, FollowUp
from cronledger.core.lifecycle import Failure, Lease
from ledgers import World
from workbench import Workbench

WHY = ("--reason", "the source was wrong", "--actor", "mia")


class Desk:
    """Commands over a database with a job that has split into four chunks."""

    def __init__(self, cli: Cli, bench: Workbench) -> None:
        self.cli, self.bench = cli, bench
        (self.id,) = bench.enqueue("split")
        (self.lease,) = bench.claim(1, "a", "split")
        self.key = self.lease.key
        self.splits = PostgresSplits(bench.session)
        self.splits.split(self.lease, ChunkWork("part"), [Chunk(n) for n in ("a", "b", "c", "d")])

    def __call__(self, *arguments: str) -> Answer:
        return self.cli(*arguments, "--database", self.bench.dsn)

    def seal(self, then: str | None = "report") -> None:
        self.splits.seal(self.lease, FollowUp(then) if then else None)

    def claim(self, count: int = 9) -> list[Lease]:
        return self.bench.claim(count, "a", "part")

    def kill(self) -> Lease:
        (lease,) = self.claim(1)
        self.bench.queue.fail(lease, Failure("Boom", "it broke", retryable=False))
        return lease


@pytest.fixture
def desk(cli: Cli, database: str, session_for: Callable[..., Session]) -> Desk:
    return Desk(cli, Workbench(database, session_for))


def test_progress_is_counts_by_state_and_what_fails(desk: Desk) -> None:
    dead = desk.kill()
    (done,) = desk.claim(1)
    desk.bench.queue.complete([done])
    lines = desk("jobs", "chunks", str(desk.id)).out.splitlines()
    assert lines[0] == (
        f"{desk.key}: open, 1 of 4 completed, 1 dead; not sealed: its job may add more"
    )
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["STATE", "COUNT"],
        ["completed", "1"],
        ["dead", "1"],
        ["eligible", "2"],
    ]
    assert lines[6].split() == ["ID", "KEY", "STATE", "ATTEMPT", "ERROR", "CLASS", "ERROR"]
    assert lines[7].split() == [
        str(dead.job_id),
        f"{desk.key}#a",
        "dead",
        "1",
        "Boom",
        "it",
        "broke",
    ]
    desk.seal()
    said = desk("jobs", "chunks", str(desk.id), "--limit", "0").out
    assert said.startswith(
        f"{desk.key}: open, 1 of 4 completed, 1 dead; report follows when all are"
    )
    assert "Boom" not in said


def test_a_failed_set_says_what_opens_it_and_a_finished_one_what_followed(desk: Desk) -> None:
    desk.seal()
    dead = desk.kill()
    desk.bench.queue.complete(desk.claim())
    failed = desk("jobs", "chunks", str(desk.id)).out
    assert failed.startswith(f"{desk.key}: failed, 3 of 4 completed, 1 dead; report follows")
    assert failed.endswith(
        "nothing follows while a chunk is dead; `dead replay ID` of each opens the set again\n"
    )
    assert desk("dead", "replay", str(dead.job_id), "--apply", *WHY).code == 0
    desk.bench.queue.complete(desk.claim())
    told = desk("jobs", "chunks", str(desk.id), "-o", "json").json
    assert (told["set"]["state"], told["failing"]) == ("completed", [])
    assert [(row["state"], row["count"]) for row in told["chunks"]] == [("completed", 4)]
    then = told["set"]["then_id"]
    assert f"4 of 4 completed; followed by job {then} (report)" in desk(
        "jobs", "chunks", str(desk.id)
    ).out  # fmt: skip
    assert desk.bench.states([then]) == ["eligible"]


def test_what_waits_is_cancelled_after_a_preview(desk: Desk) -> None:
    desk.seal()
    (running,) = desk.claim(1)
    dry = desk("jobs", "cancel-chunks", str(desk.id))
    assert dry.out.splitlines() == [
        "     3  eligible",
        "dry run: 3 would be cancelled, 1 would run on; add --apply and --reason to do it",
        "this cannot be undone, and report would not follow",
    ]
    assert desk("jobs", "cancel-chunks", str(desk.id), "--apply").code == 2
    assert desk.bench.rows("table cronledger.audit") == []
    done = desk("jobs", "cancel-chunks", str(desk.id), "--apply", *WHY)
    assert done.out.splitlines() == [
        "3 cancelled",
        f"{desk.key}: open, 0 of 4 completed, 3 cancelled; report will not follow",
    ]
    desk.bench.queue.complete([running])
    assert "cancelled, 1 of 4 completed, 3 cancelled; report will not follow" in (
        desk("jobs", "chunks", str(desk.id)).out
    )
    (row,) = desk("audit", "list", "-o", "json").json["audit"]
    assert (row["actor"], row["action"], row["subject"]) == ("mia", "cancel_chunks", desk.key)


def test_a_set_that_is_not_sealed_may_still_grow(desk: Desk) -> None:
    dry = desk("jobs", "cancel-chunks", str(desk.id)).out
    assert dry.splitlines() == [
        "     4  eligible",
        "dry run: 4 would be cancelled; add --apply and --reason to do it",
        "not sealed: its job may add more; `jobs cancel` ends that",
    ]
    desk.seal(None)
    assert "nothing follows" in desk("jobs", "chunks", str(desk.id)).out


def test_keys_of_occurrences_and_of_chunks_are_understood(
    world: World, database: str, cli: Cli
) -> None:
    world.at("2026-03-01T00:00:30").load("m: cron: '* * * * *'")
    world.at("2026-03-01T00:01:00").tick()
    (lease,) = PostgresQueue(world.session).claim([], ["k"], 1, "w")
    PostgresSplits(world.session).split(lease, ChunkWork("part"), [Chunk("a"), Chunk("b")])
    key = "m:2026-03-01T00:01:00Z"

    def desk(*arguments: str) -> Answer:
        return cli(*arguments, "--database", database)

    assert f"{key}: open, 0 of 2 completed" in desk("jobs", "chunks", key).out
    shown = desk("jobs", "show", f"{key}#b", "-o", "json").json["jobs"][0]
    assert (shown["key"], shown["kind"]) == (f"{key}#b", "part")
    missing = desk("jobs", "show", f"{key}#z")
    assert (missing.code, "has no chunk 'z'" in missing.err) == (2, True)
    assert desk("jobs", "show", f"{key}#then").code == 2
    PostgresQueue(world.session).complete([lease])
    parts = PostgresQueue(world.session).claim([], ["part"], 2, "w")
    PostgresQueue(world.session).complete(parts)
    assert "completed, 2 of 2 completed; nothing follows" in desk("jobs", "chunks", key).out


def test_a_job_without_chunks_is_told_so(desk: Desk) -> None:
    (other,) = desk.bench.enqueue()
    none = desk("jobs", "chunks", str(other))
    assert (none.code, f"job {other} has no chunks" in none.err) == (2, True)
    assert desk("jobs", "cancel-chunks", str(other), "--apply", *WHY).code == 2
