"""The ledger of bench/scrape.py: ten thousand schedules, days of finished jobs, and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from cronledger.adapters.postgres.session import Session

SCHEDULES = 10_000
QUEUES = 10
KINDS = 50
WAITING = 100_000
LEASED = 2_000
RETRYING = 5_000
SCHEDULED = 5_000
DEAD = 1_000
DELTAS = 2_000
# Each schedule has 72 keys a day, so a day is 720,000.
EVERY = timedelta(minutes=20)
# What waits is the newest of each schedule, so many of them.
BACKLOG = WAITING // SCHEDULES

# Finished jobs that the ledger still has whole: occurrence, body and outcome.
FINISHED = """
    with key as materialized (
      select s.id as schedule_id, s.name, 'kind-' || s.id %% %(kinds)s as kind,
             (select q.id from cronledger.queue q
               where q.name = 'q' || s.id %% %(queues)s) as queue_id,
             t.at, cronledger.day_of_ids(t.at) + nextval('cronledger.job_number') as job_id
        from generate_series(%(start)s::timestamptz, %(end)s - %(every)s, %(every)s) as t(at),
             cronledger.schedule s),
    occurrence as (
      insert into cronledger.occurrence
             (logical_time, recorded_at, enqueued_at, job_id, schedule_id, version, utc_offset,
              collapsed, fold, moved, via)
      select at, at + interval '1 s', at + interval '1 s', job_id, schedule_id, 1, 0, 1, false,
             false, 'tick' from key),
    job as (
      insert into cronledger.job
             (id, logical_time, run_at, created_at, queue_id, schedule_id, max_attempts, timeout,
              key, kind)
      select job_id, at, at, at + interval '1 s', queue_id, schedule_id, 8, '1 hour',
             name || ':' || to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), kind
        from key)
    insert into cronledger.outcome
           (job_id, claimed_at, first_claimed_at, finished_at, queue_id, attempt, state, worker)
    select job_id, at + interval '2 s', at + interval '2 s', at + interval '3 s', queue_id, 1,
           'completed', 'bench' from key
"""
# Takes back the end of the newest, as if their workers had not come to them yet.
UNFINISH = """
    with gone as (
      delete from cronledger.outcome o using cronledger.job j
       where j.id = o.job_id and j.logical_time >= %(since)s
         and j.id >= cronledger.day_of_ids(%(since)s) returning j.*)
    insert into cronledger.ready
           (job_id, eligible_at, due_at, queue_id, for_schedule, priority, attempt, max_attempts,
            kind, schedule_id, deliver_by)
    select id, created_at, logical_time, queue_id, schedule_id, 0, 0, 8, kind, schedule_id,
           logical_time + interval '1 hour'
      from gone
"""
LEASE = """
    with taken as (
      delete from cronledger.ready where job_id in (
        select job_id from cronledger.ready order by job_id limit %(n)s) returning *)
    insert into cronledger.lease
           (job_id, token, eligible_at, due_at, claimed_at, first_claimed_at, expires_at, queue_id,
            for_schedule, priority, attempt, max_attempts, kind, schedule_id, deliver_by, worker)
    select job_id, nextval('cronledger.lease_token'), eligible_at, due_at, now(), now(),
           now() + interval '1 day', queue_id, for_schedule, 0, 1, 8, kind, schedule_id,
           deliver_by, 'bench'
      from taken
"""
DEFER = """
    with taken as (
      delete from cronledger.ready where job_id in (
        select job_id from cronledger.ready order by job_id limit %(n)s) returning *)
    insert into cronledger.deferred
           (job_id, eligible_at, due_at, queue_id, for_schedule, priority, attempt, max_attempts,
            kind, schedule_id, deliver_by, error_class, error)
    select job_id, now() + interval '1 day', due_at, queue_id, for_schedule, 0, %(attempt)s, 8,
           kind, schedule_id, deliver_by, case when %(attempt)s > 0 then 'Error' end,
           case when %(attempt)s > 0 then 'it failed' end
      from taken
"""
DIE = """
    insert into cronledger.dead (job_id, dead_at, queue_id, attempt, kind, error_class, error)
    select job_id, finished_at, queue_id, 8, 'kind-0', 'Error', 'it failed'
      from cronledger.outcome order by job_id desc limit %(n)s
"""
# One kind is in one queue. Nine of the buckets of each histogram have something in them.
COUNT = """
    with kind as (
      select array['q' || k %% %(queues)s, 'kind-' || k] as labels
        from generate_series(0, %(kinds)s - 1) as k),
    counter as (
      select 'cronledger_jobs_created_total' as metric, labels, 'Infinity'::float as le from kind
       union all
      select 'cronledger_jobs_finished_total', labels || state, 'Infinity'
        from kind, unnest('{completed,dead,cancelled}'::text[]) as state
       union all
      select 'cronledger_attempts_total', labels || outcome, 'Infinity'
        from kind, unnest('{completed,retry,dead,lease_expired}'::text[]) as outcome
       union all
      select 'cronledger_job_wait_seconds', labels, le
        from kind, unnest(cronledger.bounds_of_spans()) as le where le between 0.5 and 600
       union all
      select 'cronledger_job_execution_seconds', labels || outcome, le
        from kind, unnest('{completed,retry,dead}'::text[]) as outcome,
             unnest(cronledger.bounds_of_spans()) as le where le between 0.5 and 600),
    kept as (
      insert into cronledger.stat (metric, labels, le, n, total)
      select metric, labels, le, 1000, 1000000 from counter)
    insert into cronledger.stat_delta (metric, labels, le, n, total)
    select metric, labels, le, 1, 1000 from counter order by labels limit %(deltas)s
"""
SUCCEED = """
    with newest as (
      insert into cronledger.newest (schedule_id, logical_time)
      select s.id, %(newest)s from cronledger.schedule s)
    insert into cronledger.success (schedule_id, at)
    select s.id, %(since)s from cronledger.schedule s
"""
TABLES = (
    "occurrence",
    "job",
    "outcome",
    "ready",
    "deferred",
    "lease",
    "dead",
    "stat",
    "success",
    "newest",
)
SIZES = {"queues": QUEUES, "kinds": KINDS, "deltas": DELTAS, "every": EVERY}


def file_text() -> str:
    """So many schedules every twenty minutes, whose past is not caught up."""
    lines = ["version: 1", "defaults: {catchup: {policy: none}}", "schedules:"]
    for number in range(1, SCHEDULES + 1):
        job = f"{{kind: kind-{number % KINDS}, queue: q{number % QUEUES}}}"
        lines.append(f'  s{number:05d}: {{cron: "*/20 * * * *", job: {job}}}')
    return "\n".join(lines) + "\n"


def past_days(session: Session, start: datetime, end: datetime) -> None:
    """Tables for days that have gone by, as they had them when they were today."""
    days = (end - start) // timedelta(days=1) + 1
    with _clock(session, start):
        session.script("select cronledger.make_days(%(ahead)s)", {"ahead": days})


def finish(session: Session, start: datetime, end: datetime) -> None:
    """Finished jobs from `start` until `end`, one for each key; a day in each transaction."""
    while start < end:
        until = min(end, start + timedelta(days=1))
        session.script(FINISHED, SIZES | {"start": start, "end": until})
        start = until


def wait(session: Session, end: datetime) -> None:
    """The newest of each schedule wait, in every way in which a job can."""
    since = end - BACKLOG * EVERY
    session.script(UNFINISH, {"since": since})
    session.script(LEASE, {"n": LEASED})
    session.script(DEFER, {"n": RETRYING, "attempt": 1})
    session.script(DEFER, {"n": SCHEDULED, "attempt": 0})
    session.script(DIE, {"n": DEAD})
    session.script(COUNT, SIZES)
    session.script(SUCCEED, {"since": since, "newest": end - EVERY})


def settle(session: Session) -> None:
    """As autovacuum would have left it."""
    for table in TABLES:
        session.script(f"vacuum (analyze) cronledger.{table}")
    session.script("checkpoint")


@contextmanager
def _clock(session: Session, at: datetime) -> Iterator[None]:
    put = "create or replace function cronledger.now() returns timestamptz language sql stable "
    put += "parallel safe as $$ select {} $$"
    session.script(put.format(f"'{at.isoformat()}'::timestamptz"))
    try:
        yield
    finally:
        session.script(put.format("statement_timestamp()"))
