"""One reading for the metrics: what it counts, that it is consistent, that it folds counters."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import psycopg
import pytest

from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.postgres.snapshot import PostgresMeasured
from cronledger.adapters.zones import PinnedZones
from cronledger.core.lifecycle import Failure
from cronledger.core.snapshot import LedgerSnapshot, QueuedState, QueueFacts
from cronledger.errors import StoreError
from ledgers import World, time

ALL = "catchup: {policy: all, window: P30D}"
QUEUES = "queues: {idle: {}, q: {lease: PT1M, max_attempts: 1}}\n"


@pytest.fixture
def busy(any_database: str, session_for: Callable[..., Session], zones: PinnedZones) -> World:
    """Ten hourly occurrences, none claimed; it is 10:00:05."""
    world = World(session_for(any_database), zones)
    world.at("2026-03-01T00:30").load(
        f"h: cron: '0 * * * *', {ALL}, job: {{kind: k, queue: q}}",
        "y: cron: '0 0 1 1 *'",
        queues=QUEUES,
    )
    world.at("2026-03-01T10:00:05").tick()
    return world


def taken(world: World) -> LedgerSnapshot:
    return PostgresMeasured(world.session).snapshot()


def queue_of(world: World, name: str = "q") -> QueueFacts:
    return next(queue for queue in taken(world).queues if queue.queue == name)


def test_every_queue_is_in_it_also_an_idle_one(busy: World) -> None:
    assert [queue.queue for queue in taken(busy).queues] == ["default", "idle", "q"]


def test_a_ledger_without_schedules_is_read_again_and_again(
    any_database: str, session_for: Callable[..., Session]
) -> None:
    measured = PostgresMeasured(session_for(any_database))
    assert measured.snapshot().schedules == measured.snapshot().schedules == ()


def test_waiting_jobs_are_counted_with_the_oldest(busy: World) -> None:
    found = queue_of(busy.at("2026-03-01T10:10"))
    assert found.jobs[QueuedState.ELIGIBLE] == 10
    assert found.oldest_eligible == time("2026-03-01T10:00:05"), "claimable since it was enqueued"
    assert found.oldest_unfinished == time("2026-03-01T01:00"), "due since its logical time"
    assert sum(found.jobs.values()) == 10


def test_each_state_is_counted_once(busy: World) -> None:
    queue = PostgresQueue(busy.session)
    leases = queue.claim(["q"], ["k"], 4, "w")
    queue.complete(leases[:1])
    queue.fail(leases[1], Failure("Boom", "it broke", retryable=False))
    found = queue_of(busy)
    assert found.jobs == {
        QueuedState.SCHEDULED: 0,
        QueuedState.ELIGIBLE: 6,
        QueuedState.LEASED: 2,
        QueuedState.LEASE_EXPIRED: 0,
        QueuedState.RETRYING: 0,
        QueuedState.DEAD: 1,
    }
    assert found.oldest_lease == found.oldest_dead_letter == time("2026-03-01T10:00:05")
    later = queue_of(busy.at("2026-03-01T10:01:05"))
    assert later.jobs[QueuedState.LEASE_EXPIRED] == 2
    assert later.oldest_expired_lease == time("2026-03-01T10:01:05")


def test_a_queue_is_paused_until_its_pause_is_over_and_no_longer(busy: World) -> None:
    busy.sql(
        "select cronledger.pause_queue('q', %(until)s, 'mia', 'the provider is down')",
        until=time("2026-03-01T10:30"),
    )
    assert queue_of(busy).claims_paused
    assert not queue_of(busy.at("2026-03-01T10:30")).claims_paused
    assert len(PostgresQueue(busy.session).claim(["q"], ["k"], 1, "w")) == 1


def test_a_discarded_letter_is_measured_no_more(busy: World) -> None:
    queue = PostgresQueue(busy.session)
    (lease,) = queue.claim(["q"], ["k"], 1, "w")
    queue.fail(lease, Failure("Boom", "it broke", retryable=False))
    assert queue_of(busy).jobs[QueuedState.DEAD] == 1
    busy.sql("select cronledger.discard(%(id)s, 'mia', 'nobody needs it')", id=lease.job_id)
    found = queue_of(busy)
    assert (found.jobs[QueuedState.DEAD], found.oldest_dead_letter) == (0, None)


def test_a_schedule_shows_its_last_record_and_its_oldest_unfinished(busy: World) -> None:
    queue = PostgresQueue(busy.session)
    queue.complete(queue.claim(["q"], ["k"], 3, "w"))
    found = {facts.schedule: facts for facts in taken(busy).schedules}
    assert found["h"].last_recorded == time("2026-03-01T10:00")
    assert found["h"].oldest_unfinished == time("2026-03-01T04:00")
    assert found["y"].last_recorded is None


def counters(world: World) -> dict[tuple[str, ...], int]:
    return {(c.metric, *c.labels): c.value for c in taken(world).counters}


def test_folding_changes_no_counter(busy: World) -> None:
    before = counters(busy)
    assert before["cronledger_occurrences_recorded_total", "default", "tick"] == 10
    assert before["cronledger_jobs_created_total", "q", "k"] == 10
    PostgresMeasured(busy.session).fold_counters()
    assert counters(busy) == before
    assert busy.sql("select * from cronledger.stat_delta") == []
    PostgresMeasured(busy.session).fold_counters()
    assert counters(busy) == before


def test_many_that_fold_at_once_count_everything_once(
    busy: World, any_database: str, session_for: Callable[..., Session]
) -> None:
    busy.sql(
        "insert into cronledger.stat_delta (metric, labels, n)"
        " select 'm' || i %% 7, array['a', (i %% 3)::text], 1 from generate_series(1, %(n)s) i",
        n=9000,
    )
    before = counters(busy)
    folders = [PostgresMeasured(session_for(any_database)) for _ in range(4)]

    def fold(folder: PostgresMeasured) -> None:
        for _ in range(5):
            folder.fold_counters()

    threads = [Thread(target=fold, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters(busy) == before
    assert busy.sql("select * from cronledger.stat_delta") == []


def test_it_reads_while_others_hold_every_row(busy: World, any_database: str) -> None:
    with psycopg.connect(any_database) as other:
        other.execute("select pg_catalog.set_config('lock_timeout', '1s', false)")
        other.execute("lock table cronledger.ready, cronledger.stat_delta in exclusive mode")
        assert queue_of(busy).jobs[QueuedState.ELIGIBLE] == 10


def test_when_a_reconcile_last_ended_is_in_it(busy: World) -> None:
    assert taken(busy).last_reconcile is None
    busy.ledger.reconciled()
    assert taken(busy).last_reconcile == time("2026-03-01T10:00:05")


def test_it_writes_nothing_even_by_mistake(busy: World) -> None:
    session = busy.session

    def write() -> None:
        with session.transaction():
            session.run("snapshot_begin")
            session.run("reconciled")

    with pytest.raises(StoreError, match="read-only"):
        write()


def test_q067_a_deep_queue_that_drains_is_young_and_a_shallow_one_that_is_stuck_is_old(
    any_database: str, session_for: Callable[..., Session], zones: PinnedZones
) -> None:
    world = World(session_for(any_database), zones).at("2026-03-01T12:00")
    world.load("y: cron: '0 0 1 1 *'", queues="queues: {a: {}, b: {}, c: {}, d: {}}\n")
    enqueue = (
        "select count(*) from cronledger.enqueue_once(%(queue)s, 'k',"
        " (select array_agg(n::text) from generate_series(1, %(n)s) n),"
        " array_fill('{}'::jsonb, array[%(n)s]),"
        " array_fill(%(run_at)s::timestamptz, array[%(n)s]))"
    )
    for queue, depth, at in (("a", 10_000, "11:59:57"), ("b", 1, "08:00"), ("c", 5, "06:00")):
        world.at(f"2026-03-01T{at}").sql(enqueue, queue=queue, n=depth, run_at=None)
    world.at("2026-03-01T12:00").sql(enqueue, queue="d", n=7, run_at=time("2026-03-02T00:00"))
    world.sql("select cronledger.pause_queue('c', null, 'mia', 'the partner is down')")
    ages = {
        queue.queue: queue.oldest_eligible and (world.now - queue.oldest_eligible).total_seconds()
        for queue in taken(world).queues
    }
    assert ages == {"a": 3, "b": 14_400, "c": 21_600, "d": None, "default": None}
    paused = {queue.queue for queue in taken(world).queues if queue.claims_paused}
    assert paused == {"c"}


def test_the_share_of_the_retry_budget_that_is_left_is_measured(busy: World) -> None:
    assert queue_of(busy).budget_left is None
    busy.sql("update cronledger.queue set retry_budget = 4, max_attempts = 9 where name = 'q'")
    assert queue_of(busy).budget_left == 1
    queue = PostgresQueue(busy.session)
    busy.sql("update cronledger.ready set max_attempts = 9")
    for lease in queue.claim(["q"], ["k"], 3, "w"):
        queue.fail(lease, Failure("Boom", "it broke"))
    assert queue_of(busy).budget_left == 0.25
    assert queue_of(busy.at("2026-03-01T10:01")).budget_left == 1
