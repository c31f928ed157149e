"""The durable histograms, and how occurrences end: what is observed when, under which labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise

import pytest

from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.postgres.snapshot import PostgresMeasured
from cronledger.adapters.zones import PinnedZones
from cronledger.core.catalogue import CATALOGUE, KINDS_MAX, OTHER, MetricType, Source
from cronledger.core.distribution import OF_ATTEMPTS, OF_SPANS, OF_STARTS, Distribution
from cronledger.core.expand import Occurrence
from cronledger.core.expected import Owed
from cronledger.core.lifecycle import Failure, Lease, Timing
from cronledger.core.schedule import JobSpec
from cronledger.core.snapshot import LedgerSnapshot
from cronledger.ports import Enqueue
from ledgers import World, time

ALL = "catchup: {policy: all, window: P30D}"
QUEUES = "queues: {q: {lease: PT1M, max_attempts: 2}}\n"
WAIT = "cronledger_job_wait_seconds"
START = "cronledger_job_claim_to_start_seconds"
RAN = "cronledger_job_execution_seconds"
TRIES = "cronledger_job_attempts"
LAG = "cronledger_enqueue_lag_seconds"
ENDS = "cronledger_deliveries_total"
BOOM = Failure("Boom", "it broke", retry_after=timedelta(0))


@pytest.fixture
def world(any_database: str, session_for: Callable[..., Session], zones: PinnedZones) -> World:
    """Hourly schedules of two classes, one with an objective of two hours; it is 10:00:05."""
    made = World(session_for(any_database), zones)
    made.at("2026-03-01T00:30").load(
        f"h: cron: '0 * * * *', class: hourly, objective: PT2H, {ALL}, job: {{kind: k, queue: q}}",
        "d: cron: '0 0 * * *', catchup: {policy: none}, job: {kind: k, queue: q}",
        "w: cron: '0 0 * * *', catchup: {policy: all, window: PT30M}, job: {kind: k, queue: q}",
        queues=QUEUES,
    )
    return made.at("2026-03-01T10:00:05")


def claim(world: World, limit: int = 1) -> list[Lease]:
    return PostgresQueue(world.session).claim(["q"], ["k"], limit, "w")


def taken(world: World) -> LedgerSnapshot:
    return PostgresMeasured(world.session).snapshot()


def seen(world: World, metric: str, *labels: str) -> dict[float, int]:
    """How often each bucket was met, by its bound; buckets that were not are left out."""
    value = observed(world, metric, *labels)
    bounds = (*value.bounds, float("inf"))
    return {bound: n for bound, n in zip(bounds, value.counts, strict=True) if n}


def observed(world: World, metric: str, *labels: str) -> Distribution:
    found = {(h.metric, h.labels): h.value for h in taken(world).histograms}
    return found.get((metric, labels), Distribution.empty(CATALOGUE[metric].bounds))


def ends(world: World) -> dict[tuple[str, ...], int]:
    return {c.labels: c.value for c in taken(world).counters if c.metric == ENDS}


@pytest.mark.parametrize(
    ("function", "bounds"),
    [
        ("bounds_of_spans", OF_SPANS),
        ("bounds_of_starts", OF_STARTS),
        ("bounds_of_attempts", OF_ATTEMPTS),
    ],
)
def test_the_database_has_the_buckets_of_the_catalogue(
    world: World, function: str, bounds: Sequence[float]
) -> None:
    (row,) = world.sql(f"select cronledger.{function}() as bounds")
    assert tuple(row["bounds"]) == tuple(bounds)
    assert all(lower < upper for lower, upper in pairwise(bounds))
    around = [float(x) for b in bounds for x in (b - 1e-6, b, b + 1e-6)] + [0.0, 1e7]
    rows = world.sql(
        f"select cronledger.bucket(v, cronledger.{function}()) as le from unnest(%(v)s::float8[])"
        " with ordinality as u(v, place) order by place",
        v=around,
    )
    # The oracle shares no code: the first bound that is not below.
    expected = [next((b for b in bounds if b >= x), float("inf")) for x in around]
    assert [row["le"] for row in rows] == expected


def test_what_waited_is_observed_with_the_claim_in_one_row_for_each_bucket(world: World) -> None:
    world.tick()
    leases = claim(world.at("2026-03-01T10:00:45"), 100)
    assert len(leases) == 10
    assert seen(world, WAIT, "q", "k") == {60: 10}
    assert observed(world, WAIT, "q", "k").total == 400
    rows = world.sql("select n from cronledger.stat_delta where metric = %(m)s", m=WAIT)
    assert [row["n"] for row in rows] == [10]


def test_what_the_worker_tells_is_observed_as_start_and_run(world: World) -> None:
    world.tick()
    leases = claim(world, 3)
    started, ran = timedelta(milliseconds=7), timedelta(minutes=3)
    timings = [Timing(started, ran), Timing(started * 2, ran), Timing()]
    world.at("2026-03-01T10:00:45")
    PostgresQueue(world.session).complete(leases, timings)
    assert seen(world, START, "q", "k") == {0.01: 1, 0.025: 1}
    assert observed(world, START, "q", "k").total == pytest.approx(0.021)
    # What is not told is the time since the claim.
    assert seen(world, RAN, "q", "k", "completed") == {300: 2, 60: 1}
    assert observed(world, RAN, "q", "k", "completed").total == 400
    assert seen(world, TRIES, "q", "k") == {1: 3}


def test_a_lease_that_is_named_twice_is_observed_once(world: World) -> None:
    world.tick()
    (lease,) = claim(world)
    world.sql(
        "select cronledger.complete(array[%(id)s, %(id)s], array[%(t)s, %(t)s],"
        " array[0.1, 0.1]::float8[], array[1, 1]::float8[])",
        id=lease.job_id,
        t=lease.token,
    )
    assert observed(world, RAN, "q", "k", "completed").count == 1
    assert world.counted("cronledger_jobs_finished_total") == 1


def test_every_way_in_which_an_attempt_ends_has_its_outcome(world: World) -> None:
    world.tick()
    queue = PostgresQueue(world.session)
    (first,) = claim(world)
    told = Timing(timedelta(seconds=1), timedelta(seconds=20))
    assert queue.fail(first, BOOM, told) == "retrying"
    assert seen(world, RAN, "q", "k", "retry") == {30: 1}
    retried = claim(world, 10)
    dying = next(lease for lease in retried if lease.job_id == first.job_id)
    assert queue.fail(dying, BOOM, told) == "dead"
    assert seen(world, RAN, "q", "k", "dead") == {30: 1}
    assert seen(world, START, "q", "k") == {1: 2}
    assert seen(world, TRIES, "q", "k") == {2: 1}
    cancelled, expiring, *_ = (lease for lease in retried if lease != dying)
    world.sql("select cronledger.cancel(%(i)s, 'mia', 'it is not wanted')", i=cancelled.job_id)
    queue.fail(cancelled, BOOM)
    assert observed(world, RAN, "q", "k", "cancelled").count == 1
    world.sql("delete from cronledger.lease where job_id <> %(i)s", i=expiring.job_id)
    world.at("2026-03-01T12:00")
    assert queue.rescue(10) == 1
    # It is not known when the handler ended; that the lease was its worker's until then is.
    assert seen(world, RAN, "q", "k", "lease_expired") == {60: 1}
    attempts = sum(n for m, n in counts(world) if m == "cronledger_attempts_total")
    assert attempts == sum(h.value.count for h in taken(world).histograms if h.metric == RAN)


def counts(world: World) -> list[tuple[str, int]]:
    return [(counter.metric, counter.value) for counter in taken(world).counters]


def test_every_end_of_a_job_tells_its_attempts(world: World) -> None:
    world.tick()
    queue = PostgresQueue(world.session)
    completed, dying = claim(world, 2)
    queue.complete([completed])
    queue.fail(dying, Failure("Boom", "it broke", retryable=False))
    (waiting, *_) = [row["job_id"] for row in world.sql("select job_id from cronledger.ready")]
    world.sql("select cronledger.cancel(%(i)s, 'mia', 'it is not wanted')", i=waiting)
    finished = sum(n for metric, n in counts(world) if metric == "cronledger_jobs_finished_total")
    assert finished == observed(world, TRIES, "q", "k").count == 3
    # One that was cancelled before its first attempt had none.
    assert observed(world, TRIES, "q", "k").total == 2


def test_what_is_rolled_back_was_not_observed(world: World) -> None:
    world.tick()
    leases = claim(world, 2)
    before = taken(world)
    world.sql("begin")
    PostgresQueue(world.session).complete(leases)
    world.sql("rollback")
    assert taken(world) == before


def test_obs47_a_lag_of_thirty_hours_is_seen_and_that_of_a_backfill_is_not(world: World) -> None:
    world.at("2026-03-02T07:00:05").tick()
    # 31 hours were owed since 00:30; the oldest of them 30 hours and 5 seconds ago.
    assert observed(world, LAG, "hourly").count == 31
    assert seen(world, LAG, "hourly")[float("inf")] == 31 - 24
    assert seen(world, LAG, "hourly")[5] == 1
    epoch = int(time("2026-02-20T05:00").timestamp())
    owed = (Owed(1, Occurrence(epoch, 0, 0, False, 1)),)
    (row,) = world.sql("select id from cronledger.schedule where name = 'h'")
    batch = [Enqueue(row["id"], JobSpec("k", queue="q"), owed)]
    assert world.ledger.enqueue_once(batch, "backfill") == {row["id"]: [epoch]}
    assert observed(world, LAG, "hourly").count == 31


def test_an_end_is_on_time_within_the_objective_of_its_schedule_and_counts_for_its_class(
    world: World,
) -> None:
    world.tick()
    queue = PostgresQueue(world.session)
    # Due at 01:00 to 10:00, objective two hours: 08:00 is five seconds late.
    queue.complete(claim(world, 100))
    assert ends(world) == {("hourly", "late"): 8, ("hourly", "on_time"): 2}


def test_the_last_instant_of_the_objective_is_on_time(world: World) -> None:
    world.at("2026-03-01T01:00").tick()
    PostgresQueue(world.session).complete(claim(world.at("2026-03-01T03:00"), 100))
    assert ends(world) == {("hourly", "on_time"): 1}


def test_dead_cancelled_and_abandoned_are_ends_too(world: World) -> None:
    """What `catchup: none` leaves out is not: the file asks for it."""
    world.at("2026-03-01T01:00").tick()
    PostgresQueue(world.session).fail(claim(world)[0], Failure("Boom", "it", retryable=False))
    world.at("2026-03-02T01:00:05").tick()
    (waiting, *_) = [row["job_id"] for row in world.sql("select job_id from cronledger.ready")]
    world.sql("select cronledger.cancel(%(i)s, 'mia', 'it is not wanted')", i=waiting)
    assert ends(world) == {
        ("default", "abandoned"): 1,
        ("hourly", "dead"): 1,
        ("hourly", "cancelled"): 1,
    }


def test_a_dead_letter_that_is_replayed_reaches_a_second_end(world: World) -> None:
    world.at("2026-03-01T01:00").tick()
    (lease,) = claim(world)
    PostgresQueue(world.session).fail(lease, Failure("Boom", "it", retryable=False))
    world.at("2026-03-01T02:59").sql(
        "select cronledger.replay(%(i)s, null, 'mia', 'the partner is back')", i=lease.job_id
    )
    PostgresQueue(world.session).complete(claim(world))
    assert ends(world) == {("hourly", "dead"): 1, ("hourly", "on_time"): 1}


def test_a_retry_and_a_job_that_was_handed_back_are_still_occurrences(world: World) -> None:
    world.at("2026-03-01T01:00").tick()
    queue = PostgresQueue(world.session)
    queue.release(claim(world))
    queue.fail(claim(world)[0], Failure("Boom", "it", retry_after=timedelta(hours=9)))
    (row,) = world.sql("select job_id from cronledger.deferred")
    world.sql("select cronledger.retry_now(%(i)s, 'mia', 'it is back')", i=row["job_id"])
    queue.complete(claim(world))
    assert ends(world) == {("hourly", "on_time"): 1}


def test_what_no_schedule_owed_is_no_delivery_and_no_success(world: World) -> None:
    world.sql(
        "select cronledger.enqueue_by_hand(id, 'h!1', 'q', 'k', '{}', 0, null, null, 1, null)"
        " from cronledger.schedule where name = 'h'"
    )
    PostgresQueue(world.session).complete(claim(world))
    assert ends(world) == {}
    assert {facts.last_success for facts in taken(world).schedules} == {None}


def test_a_chunk_of_an_occurrence_is_no_delivery(world: World) -> None:
    world.at("2026-03-01T01:00").tick()
    (lease,) = claim(world)
    world.sql(
        "select cronledger.split(%(i)s, %(t)s, 'k', array['a', 'b'], array['{}', '{}']::jsonb[])",
        i=lease.job_id,
        t=lease.token,
    )
    queue = PostgresQueue(world.session)
    queue.complete(claim(world, 2))
    assert ends(world) == {}
    queue.complete([lease])
    assert ends(world) == {("hourly", "on_time"): 1}


def test_an_objective_and_a_class_that_change_count_from_then_on(world: World) -> None:
    world.at("2026-03-01T01:00").tick()
    line = f"h: cron: '0 * * * *', class: slow, objective: PT30M, {ALL}, job: {{kind: k, queue: q}}"
    world.load(line, "d: cron: '0 0 * * *', job: {kind: k, queue: q}", queues=QUEUES)
    world.at("2026-03-01T02:00:05").tick()
    world.at("2026-03-01T02:31")
    PostgresQueue(world.session).complete(claim(world, 2))
    # The one of 01:00 was promised within two hours when it was enqueued.
    assert ends(world) == {("slow", "on_time"): 1, ("slow", "late"): 1}


def test_the_last_success_is_the_latest_before_and_after_folding(world: World) -> None:
    world.tick()
    queue = PostgresQueue(world.session)
    for minute in (10, 30, 20):
        queue.complete(claim(world.at(f"2026-03-01T10:{minute}")))
        for fold in (False, True):
            if fold and minute != 20:
                PostgresMeasured(world.session).fold_counters()
            found = {facts.schedule: facts.last_success for facts in taken(world).schedules}
            assert found["h"] == time("2026-03-01T10:10" if minute == 10 else "2026-03-01T10:30")
            assert found["d"] is None


def test_folding_changes_no_histogram(world: World) -> None:
    world.tick()
    leases = claim(world, 7)
    timings = [Timing(timedelta(milliseconds=n), timedelta(seconds=n / 7)) for n in range(7)]
    PostgresQueue(world.session).complete(leases, timings)
    before = taken(world).histograms
    assert {h.metric for h in before} == {
        name
        for name, metric in CATALOGUE.items()
        if metric.type is MetricType.HISTOGRAM and metric.source is Source.LEDGER
    }
    for _ in range(2):
        PostgresMeasured(world.session).fold_counters()
        assert taken(world).histograms == before
    assert world.sql("select * from cronledger.stat_delta") == []


def test_kinds_beyond_the_limit_are_one_and_those_shown_stay_shown(world: World) -> None:
    one_each = (
        "insert into cronledger.stat_delta (metric, labels, n)"
        " select 'cronledger_jobs_created_total', array['q', %(prefix)s || i], %(n)s"
        " from generate_series(1, %(kinds)s) i"
    )
    world.sql(one_each, prefix="a", n=2, kinds=KINDS_MAX - 1)
    measured = PostgresMeasured(world.session)
    assert len(created(measured)) == KINDS_MAX - 1
    world.sql(one_each, prefix="b", n=5, kinds=3)
    found = created(measured)
    assert found["q", OTHER] == 10
    assert found["q", "b1"] == 5
    assert len(found) == KINDS_MAX + 1
    # Which are the largest is asked once; a series that moved would look like an increase.
    world.sql(one_each, prefix="c", n=99, kinds=1)
    assert created(measured) == found | {("q", OTHER): 109}


def created(measured: PostgresMeasured) -> dict[tuple[str, ...], int]:
    return {
        c.labels: c.value
        for c in measured.snapshot().counters
        if c.metric == "cronledger_jobs_created_total"
    }
