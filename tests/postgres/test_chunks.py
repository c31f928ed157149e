"""Sets of chunks: each chunk enqueued once, what follows them once, and what holds a set open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from threading import Barrier, Thread
from typing import Any

import psycopg
import pytest

from commands import until
from cronledger.adapters.postgres.chunks import PostgresChunkSets, PostgresSplits
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.prune import PostgresPrune
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.core.audit import By
from cronledger.core.chunks import Chunk, ChunkWork, FollowUp
from cronledger.core.lifecycle import Failure, Lease
from cronledger.errors import ConfigError, RefusedError, StoreError
from workbench import SessionFor, Workbench

BY = By("mia", "the source was wrong")
PART, REPORT = ChunkWork("part"), FollowUp("report", {"of": "all"})


class Splitter:
    """A job that splits, on a bench."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.splits = PostgresSplits(bench.session)
        self.sets = PostgresChunkSets(bench.session)
        self.controls = PostgresControls(bench.session)
        (self.id,) = bench.enqueue("split")
        (self.lease,) = bench.claim(1, "a", "split")

    def add(self, *names: str, work: ChunkWork = PART) -> int | None:
        return self.splits.split(self.lease, work, [Chunk(n, {"range": n}) for n in names])

    def seal(self, then: FollowUp | None = REPORT) -> bool:
        return self.splits.seal(self.lease, then)

    def claim(self, limit: int = 1000) -> list[Lease]:
        return self.bench.claim(limit, "a", "part")

    def complete(self, limit: int = 1000) -> int:
        return len(self.bench.queue.complete(self.claim(limit)))

    def kill(self) -> Lease:
        """One chunk goes dead."""
        (lease,) = self.claim(1)
        self.bench.queue.fail(lease, Failure("Boom", "it broke", retryable=False))
        return lease

    def again(self) -> None:
        """The worker of the splitting job died; the next attempt has it."""
        assert self.bench.another(timedelta(hours=2)).rescue(1000) >= 1
        self.bench.rows("update cronledger.deferred set eligible_at = cronledger.now() returning 1")
        (self.lease,) = self.bench.queue.claim(["default"], ["split"], 1, "b", alone=True)

    def state(self) -> tuple[str, int, int, int, int]:
        """State, total, completed, dead, cancelled."""
        s = self.sets.chunk_set(self.id)
        return s.state, s.total, s.completed, s.dead, s.cancelled

    def follow_ups(self) -> list[str]:
        rows = self.bench.rows("select key from cronledger.jobs where kind = 'report'")
        return [row["key"] for row in rows]


@pytest.fixture
def splitter(bench: Workbench) -> Splitter:
    return Splitter(bench)


@pytest.fixture
def anywhere(any_database: str, session_for: SessionFor) -> Splitter:
    """The same on each server of the tests."""
    return Splitter(Workbench(any_database, session_for))


def names(count: int, first: int = 0) -> list[str]:
    return [f"c{n}" for n in range(first, first + count)]


def together(calls: Sequence[Callable[[], object]]) -> list[object]:
    """Run them at once, each on a thread of its own; what they gave."""
    start, given, failures = Barrier(len(calls)), list[object](), list[BaseException]()

    def run(call: Callable[[], object]) -> None:
        start.wait()
        try:
            given.append(call())
        except BaseException as error:  # told below, by the test's own thread
            failures.append(error)

    threads = [Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return given


# What is added


def test_a_chunk_is_a_job_with_a_key_of_its_own_that_takes_after_the_one_that_split(
    any_database: str, session_for: SessionFor
) -> None:
    bench = Workbench(any_database, session_for)
    bench.line("slow", max_attempts=3)
    bench.enqueue("split", tenant="acme", priority=2)
    (lease,) = bench.claim(1, "a", "split")
    splits = PostgresSplits(bench.session)
    work = ChunkWork("part", 2, "slow", timeout=timedelta(minutes=5))
    assert splits.split(lease, work, [Chunk("a-m", {"to": "m"}), Chunk("n-z", {}, "umbrella")]) == 2
    first, second = bench.queue.claim(["slow"], ["part@2"], 5, "w")
    if first.tenant != "acme":
        first, second = second, first
    assert (first.key, first.payload, first.logical_time) == (
        f"{lease.key}#a-m",
        {"to": "m"},
        lease.logical_time,
    )
    assert (first.tenant, second.tenant) == ("acme", "umbrella")
    assert (first.max_attempts, first.timeout) == (3, timedelta(minutes=5))
    (row,) = bench.rows("select distinct priority from cronledger.lease")
    assert row["priority"] == 2


def test_chunks_are_enqueued_once_whatever_the_number_of_attempts(anywhere: Splitter) -> None:
    assert anywhere.add(*names(3)) == 3
    anywhere.complete(2)
    anywhere.again()
    before = anywhere.splits.split_so_far(anywhere.lease)
    assert before.last is not None
    assert (before.sealed, before.last.name, before.last.payload) == (False, "c2", {"range": "c2"})
    assert anywhere.add(*names(5)) == 2
    assert anywhere.seal()
    anywhere.again()
    assert anywhere.splits.split_so_far(anywhere.lease).sealed
    assert (anywhere.add(*names(5)), anywhere.seal()) == (0, True)
    assert anywhere.state() == ("open", 5, 2, 0, 0)
    assert anywhere.complete() == 3
    assert len(anywhere.follow_ups()) == 1


def test_names_are_kept_apart_by_set_and_not_by_key(splitter: Splitter) -> None:
    other = Splitter(splitter.bench)
    assert (splitter.add("a", "a", "b"), other.add("a", "b")) == (2, 2)


def test_who_has_lost_the_lease_adds_and_seals_nothing(splitter: Splitter) -> None:
    lost = splitter.lease
    splitter.again()
    splits = splitter.splits
    assert splits.split(lost, PART, [Chunk("a")]) is None
    assert splits.seal(lost, REPORT) is False
    with pytest.raises(ConfigError, match="has no chunks"):
        splitter.state()


def test_a_lease_that_has_ended_adds_nothing_though_nobody_took_it_back(splitter: Splitter) -> None:
    late = PostgresSplits(splitter.bench.session_at(timedelta(hours=2)))
    assert late.split(splitter.lease, PART, [Chunk("a")]) is None


def test_a_name_that_means_other_work_is_refused_and_nothing_is_added(splitter: Splitter) -> None:
    splitter.add("a")
    same, other = Chunk("a", {"range": "a"}), Chunk("a", {"range": "b"})
    for work, chunk in [(PART, other), (ChunkWork("other"), same), (ChunkWork("part", 2), same)]:
        with pytest.raises(RefusedError, match=r"chunk a of job \d+ was added as other work"):
            splitter.splits.split(splitter.lease, work, [Chunk("new"), chunk])
    assert splitter.state()[1] == 1


def test_after_the_seal_nothing_new_is_added_and_nothing_else_follows(splitter: Splitter) -> None:
    splitter.add("a")
    splitter.seal()
    with pytest.raises(RefusedError, match="sealed, so none can be added"):
        splitter.add("a", "b")
    for then in (None, FollowUp("other"), FollowUp("report"), FollowUp("report@2", {"of": "all"})):
        with pytest.raises(RefusedError, match="sealed with another follow-up"):
            splitter.seal(then)
    assert splitter.state() == ("open", 1, 0, 0, 0)


def test_what_no_chunk_can_be_is_an_error_and_adds_nothing(splitter: Splitter) -> None:
    for name in ("", "then", "a#b", "x" * 201):
        with pytest.raises(StoreError):
            splitter.add("good", name)
    with pytest.raises(StoreError, match="there is no queue nowhere"):
        splitter.add("good", work=ChunkWork("part", queue="nowhere"))
    with pytest.raises(StoreError, match="more than 65536 bytes"):
        splitter.splits.split(splitter.lease, PART, [Chunk("a", {"x": "y" * 70_000})])
    assert splitter.bench.rows("table cronledger.chunk_set") == []


def test_a_chunk_may_start_later(splitter: Splitter) -> None:
    (row,) = splitter.bench.rows("select cronledger.now() + interval '1 hour' as at")
    splitter.splits.split(splitter.lease, PART, [Chunk("a", run_at=row["at"]), Chunk("b")])
    counts = splitter.sets.chunk_counts(splitter.id)
    assert [(c.state, c.count) for c in counts] == [("eligible", 1), ("scheduled", 1)]
    assert counts[1].oldest == row["at"]


# What follows


def test_q141_a_dead_chunk_holds_the_set_and_its_replay_reopens_it(anywhere: Splitter) -> None:
    anywhere.add(*names(10))
    anywhere.seal()
    anywhere.complete(6)
    dead = anywhere.kill()
    anywhere.complete()
    assert anywhere.state() == ("failed", 10, 9, 1, 0)
    assert anywhere.follow_ups() == []
    anywhere.controls.replay(dead.job_id, None, BY)
    assert anywhere.state() == ("open", 10, 9, 0, 0)
    (lease,) = anywhere.claim()
    assert lease.key == dead.key  # and the others do not run again
    anywhere.bench.queue.complete([lease])
    assert anywhere.state() == ("completed", 10, 10, 0, 0)
    assert anywhere.follow_ups() == [f"{anywhere.lease.key}#then"]
    assert anywhere.claim() == []


def test_q142_a_set_finishes_when_it_is_sealed_if_nothing_is_left_to_do(anywhere: Splitter) -> None:
    anywhere.seal()
    assert anywhere.state() == ("completed", 0, 0, 0, 0)
    other = Splitter(anywhere.bench)
    other.add(*names(3))
    other.complete()
    assert other.state() == ("open", 3, 3, 0, 0)
    other.seal()
    assert other.state() == ("completed", 3, 3, 0, 0)
    assert sorted(anywhere.follow_ups()) == [
        f"{anywhere.lease.key}#then",
        f"{other.lease.key}#then",
    ]


def test_what_follows_takes_after_the_job_that_split(splitter: Splitter) -> None:
    splitter.bench.line("reports")
    splitter.seal(FollowUp("report@3", {"n": 1}, "reports"))
    (lease,) = splitter.bench.queue.claim(["reports"], ["report@3"], 5, "w")
    assert (lease.payload, lease.logical_time) == ({"n": 1}, splitter.lease.logical_time)
    assert splitter.sets.chunk_set(splitter.id).then_id == lease.job_id
    assert splitter.bench.counted("cronledger_jobs_created_total")[("reports", "report")] == 1


def test_a_job_that_completes_without_sealing_seals_and_nothing_follows(splitter: Splitter) -> None:
    splitter.add("a")
    splitter.bench.queue.complete([splitter.lease])
    splitter.complete()
    assert splitter.state() == ("completed", 1, 1, 0, 0)
    assert splitter.follow_ups() == []


def test_a_job_that_dies_before_it_seals_leaves_the_set_open_for_its_replay(
    splitter: Splitter,
) -> None:
    splitter.add("a")
    splitter.bench.queue.fail(splitter.lease, Failure("Boom", "it broke", retryable=False))
    splitter.complete()
    assert splitter.state() == ("open", 1, 1, 0, 0)
    splitter.controls.replay(splitter.id, None, BY)
    (splitter.lease,) = splitter.bench.claim(1, "a", "split")
    splitter.add("a", "b")
    splitter.seal()
    splitter.complete()
    assert len(splitter.follow_ups()) == 1


def test_a_discarded_chunk_still_holds_the_set_and_may_be_replayed(splitter: Splitter) -> None:
    splitter.add("a", "b")
    splitter.seal()
    dead = splitter.kill()
    splitter.complete()
    splitter.controls.discard(dead.job_id, BY)
    assert splitter.state() == ("failed", 2, 1, 1, 0)
    splitter.controls.replay(dead.job_id, None, BY)
    splitter.complete()
    assert len(splitter.follow_ups()) == 1


def test_a_chunk_may_split_in_turn(splitter: Splitter) -> None:
    splitter.add("a")
    splitter.seal()
    (chunk,) = splitter.claim()
    splitter.splits.split(chunk, ChunkWork("crumb"), [Chunk("x")])
    splitter.splits.seal(chunk, FollowUp("inner"))
    splitter.bench.queue.complete([chunk])
    assert splitter.follow_ups() == [f"{splitter.lease.key}#then"]  # the outer set is its chunks
    (crumb,) = splitter.bench.claim(5, "a", "crumb")
    splitter.bench.queue.complete([crumb])
    (inner,) = splitter.bench.claim(5, "a", "inner")
    assert (crumb.key, inner.key) == (f"{chunk.key}#x", f"{chunk.key}#then")


@pytest.mark.parametrize("batch", [1, 7])
def test_of_eight_sessions_that_finish_two_hundred_chunks_at_once_one_enqueues_what_follows(
    anywhere: Splitter, batch: int
) -> None:
    anywhere.add(*names(200))
    leases = anywhere.claim()
    queues = [anywhere.bench.another() for _ in range(8)]
    shares = [leases[n::8] for n in range(8)]

    def finish(queue: PostgresQueue, share: list[Lease]) -> int:
        return sum(
            len(queue.complete(share[at : at + batch])) for at in range(0, len(share), batch)
        )

    calls = [partial(finish, q, share) for q, share in zip(queues, shares, strict=True)]
    other = PostgresSplits(anywhere.bench.session_at())
    seal = partial(other.seal, anywhere.lease, REPORT)
    done = together([*calls, seal])  # sealed somewhere in between
    assert sum(n for n in done if n is not True) == 200  # type: ignore[misc]  # counts, and the seal
    assert anywhere.state() == ("completed", 200, 200, 0, 0)
    assert anywhere.follow_ups() == [f"{anywhere.lease.key}#then"]


def test_batches_over_several_sets_in_any_order_wait_in_no_ring(splitter: Splitter) -> None:
    several = [splitter, *(Splitter(splitter.bench) for _ in range(4))]
    for n in range(40):  # so that the chunks come in another order than their sets
        for one in several[:: 1 if n % 2 else -1]:
            one.add(f"c{n}")
    leases = splitter.claim()
    backwards = sorted(leases, key=lambda lease: lease.key[::-1])
    assert len(leases) == 200
    queues = [splitter.bench.another() for _ in range(3)]
    later = splitter.bench.another(timedelta(hours=2))
    splitter.bench.rows(
        "update cronledger.lease set max_attempts = 1 where job_id = any (%(ids)s) returning 1",
        ids=[lease.job_id for lease in leases[100:]],
    )

    def finish(queue: PostgresQueue, share: list[Lease]) -> int:
        return sum(len(queue.complete(share[at : at + 10])) for at in range(0, len(share), 10))

    def rescue() -> int:
        ended = 0
        while n := later.rescue(7):
            ended += n
        return ended

    shares = [backwards[n::3] for n in range(3)]
    together([*(partial(finish, q, s) for q, s in zip(queues, shares, strict=True)), rescue])
    counts = [one.state() for one in several]
    completed, dead = sum(c[2] for c in counts), sum(c[3] for c in counts)
    (retrying,) = splitter.bench.rows(
        "select count(*)::int as n from cronledger.deferred where kind = 'part'"
    )
    assert completed + dead + retrying["n"] == 200
    assert dead > 0


def test_a_rescue_locks_the_sets_of_all_that_it_ends_before_it_ends_one(splitter: Splitter) -> None:
    first, second = splitter, Splitter(splitter.bench)
    second.add("a")
    first.add("b")  # rescued after the other, though its set comes first
    ids = [lease.job_id for lease in first.claim()]
    bench, later = first.bench, first.bench.another(timedelta(hours=2))
    bench.rows("update cronledger.lease set max_attempts = 1 returning 1")
    lock = "select from cronledger.chunk_set where id = %s for update nowait"
    with psycopg.connect(bench.dsn) as connection:
        connection.execute(lock, [first.id])
        rescuer = Thread(target=later.rescue, args=(10,))
        rescuer.start()
        until(
            lambda: bench.rows("select 1 from pg_locks where not granted"),
            "the rescue waits for us",
        )
        connection.execute(lock, [second.id])  # or each would wait for the other
    rescuer.join()
    assert bench.states(ids) == ["dead", "dead"]


# What an operator does


def test_what_waits_of_a_set_is_cancelled_and_what_runs_goes_on(anywhere: Splitter) -> None:
    (row,) = anywhere.bench.rows("select cronledger.now() + interval '1 hour' as at")
    anywhere.add(*names(5))
    anywhere.splits.split(anywhere.lease, PART, [Chunk("later", run_at=row["at"])])
    anywhere.seal()
    running, failing = anywhere.claim(2)
    anywhere.bench.queue.fail(failing, Failure("Boom", "it broke"))
    assert anywhere.sets.cancel_chunks(anywhere.id, BY) == 5
    assert anywhere.state() == ("open", 6, 0, 0, 5)
    anywhere.bench.queue.complete([running])
    assert anywhere.state() == ("cancelled", 6, 1, 0, 5)
    assert anywhere.follow_ups() == []
    (audit,) = anywhere.bench.rows("table cronledger.audit")
    assert (audit["actor"], audit["reason"], audit["action"], audit["subject"]) == (
        "mia",
        BY.reason,
        "cancel_chunks",
        anywhere.lease.key,
    )
    detail = audit["detail"]
    assert (detail["cancelled"], detail["before"]["cancelled"], detail["after"]["cancelled"]) == (
        5,
        0,
        5,
    )
    assert anywhere.sets.cancel_chunks(anywhere.id, BY) == 0
    assert len(anywhere.bench.rows("table cronledger.audit")) == 1
    ended = anywhere.bench.counted("cronledger_jobs_finished_total")
    assert ended[("default", "part", "cancelled")] == 5


def test_a_single_chunk_that_is_cancelled_waiting_or_running_is_counted_once(
    splitter: Splitter,
) -> None:
    splitter.add("a", "b", "c")
    splitter.seal()
    (running,) = splitter.claim(1)
    (waiting, _) = splitter.bench.rows("select job_id from cronledger.ready order by 1")
    for _ in range(2):
        splitter.controls.cancel(waiting["job_id"], BY)
        splitter.controls.cancel(running.job_id, BY)
    splitter.bench.queue.fail(running, Failure("cancelled", "as it was told"))
    splitter.complete()
    assert splitter.state() == ("cancelled", 3, 1, 0, 2)


def test_a_job_without_chunks_is_told_so(splitter: Splitter) -> None:
    with pytest.raises(ConfigError, match="has no chunks"):
        splitter.sets.cancel_chunks(splitter.id, BY)
    assert splitter.bench.rows("table cronledger.audit") == []


def test_the_failing_ones_are_shown_first_the_dead(splitter: Splitter) -> None:
    splitter.add(*names(4))
    (first, second) = splitter.claim(2)
    splitter.bench.queue.fail(first, Failure("Late", "not yet"))
    splitter.bench.queue.fail(second, Failure("Boom", "it broke", retryable=False))
    shown = splitter.sets.failing_chunks(splitter.id, 10)
    assert [(j.key, j.state, j.error_class, j.error) for j in shown] == [
        (f"{splitter.lease.key}#c1", "dead", "Boom", "it broke"),
        (f"{splitter.lease.key}#c0", "retrying", "Late", "not yet"),
    ]
    assert splitter.sets.chunk_job(splitter.id, "c1") == second.job_id
    assert splitter.sets.chunk_job(splitter.id, "nothing") is None
    assert splitter.sets.chunk_job(splitter.id, "then") is None


def test_a_run_is_unfinished_once_while_its_chunks_are(splitter: Splitter) -> None:
    (schedule,) = splitter.bench.rows("select id from cronledger.schedule")

    def unfinished() -> tuple[Any, ...]:
        rows = splitter.bench.session.run("unfinished", {"ids": [schedule["id"]]})
        return tuple((row["waiting"], row["leased"]) for row in rows)

    splitter.add(*names(3))
    assert unfinished() == ((0, 1),)
    splitter.seal()
    splitter.bench.queue.complete([splitter.lease])
    assert unfinished() == ((1, 0),)
    splitter.complete()
    assert unfinished() == ((1, 0),)  # the report
    splitter.bench.queue.complete(splitter.bench.claim(1, "a", "report"))
    assert unfinished() == ()


def test_sets_go_with_the_keys_once_all_their_jobs_are_gone(
    any_database: str, session_for: SessionFor
) -> None:
    session = session_for(any_database)
    bench = Workbench(any_database, session_for)
    bench.session.script("insert into cronledger.ledger default values on conflict do nothing")
    splitter = Splitter(bench)
    splitter.add("a", "b")
    splitter.seal(None)
    dead = splitter.kill()
    splitter.complete()
    bench.queue.complete([splitter.lease])
    session.script("select set_config('cronledger.test_now', (now() + '90 days')::text, false)")
    prune = PostgresPrune(session)
    prune.prune(lambda: True)
    assert splitter.state() == ("failed", 2, 1, 1, 0)  # the dead letter waits for somebody
    assert len(bench.rows("select 1 from cronledger.chunks")) == 1
    splitter.controls.discard(dead.job_id, BY)
    assert prune.prune(lambda: True).keys == 3
    assert bench.rows("table cronledger.chunk") == bench.rows("table cronledger.chunk_set") == []
