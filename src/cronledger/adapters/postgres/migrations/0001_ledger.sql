-- The ledger: schedules, their effective-dated versions, occurrences, and what was left out.

create schema if not exists cronledger;

-- The database's clock decides. STABLE, so that a condition on it can use an index; a function, so
-- that a test may put another in its place and travel in time without touching any statement.
create function cronledger.now() returns timestamptz
language sql stable parallel safe as $$ select statement_timestamp() $$;

create table cronledger.schedule (
  id         int generated always as identity primary key,
  name       text not null unique check (octet_length(name) between 1 and 200),
  loaded_at  timestamptz not null,
  -- Every key due before this instant has been decided on once. Saves work; decides nothing
  -- but whether an unrecorded key is an outage (behind it: a loss).
  decided_to timestamptz not null,
  -- As the file says now: what its occurrences are counted under, and how late they may end.
  class      text not null default 'default' check (class <> ''),
  objective  interval not null default '1 hour' check (objective > '0')
);

-- A timing in force during [effective_from, effective_to). `spec` holds the parsed field sets,
-- so that no newer reader moves a recorded past.
create table cronledger.schedule_version (
  schedule_id    int not null references cronledger.schedule,
  number         int not null check (number >= 1),
  effective_from timestamptz not null,
  effective_to   timestamptz check (effective_to >= effective_from),
  timing_hash    text not null,
  spec           jsonb not null,
  tzdata         text not null,
  loaded_at      timestamptz not null default cronledger.now(),
  primary key (schedule_id, number)
);
-- The rules of a clock as some release of the zone data had them: from each of `transitions` (epochs)
-- on the next of `offsets` (seconds east of UTC). A version keeps the rules that it was opened with.
create table cronledger.zone (
  name        text not null,
  tzdata      text not null,
  transitions bigint[] not null,
  offsets     int[] not null check (cardinality(offsets) = cardinality(transitions) + 1),
  primary key (name, tzdata)
);

create unique index schedule_version_open
  on cronledger.schedule_version (schedule_id) where effective_to is null;

-- One row per recorded occurrence; the primary key is what makes the enqueue happen once.
-- No foreign key to schedule: enqueue_occurrences() joins it, and ten million checks cost minutes.
create table cronledger.occurrence (
  logical_time timestamptz not null check (logical_time = date_trunc('second', logical_time)),
  recorded_at  timestamptz not null,
  enqueued_at  timestamptz check (enqueued_at >= recorded_at),
  job_id       bigint,
  as_of        timestamptz,             -- the `now` of `tick --at`, where one was given
  -- How its job ended; written when the body and the outcome of the job are dropped.
  claimed_at   timestamptz,
  finished_at  timestamptz,
  schedule_id  int not null,
  version      int not null,
  utc_offset   int not null,            -- seconds east of UTC at logical_time
  collapsed    smallint not null check (collapsed >= 1),
  fold         boolean not null,
  moved        boolean not null,        -- out of a gap of the zone
  via          text not null check (via in ('tick', 'backfill', 'manual', 'external')),
  final_state  text check (final_state in ('completed', 'cancelled', 'dead')),
  primary key (schedule_id, logical_time),
  check ((finished_at is null) = (final_state is null)),
  check ((enqueued_at is null) = (job_id is null))
);

-- Expected keys that were left out on purpose, as ranges [from_time, to_time) of logical times.
-- A recorded key inside a range counts as recorded.
create table cronledger.left_out (
  schedule_id int not null references cronledger.schedule,
  from_time   timestamptz not null,
  to_time     timestamptz not null check (to_time > from_time),
  reason      text not null check (reason in (
    'outside_window', 'over_limit', 'policy_none', 'coalesced',   -- omitted
    'paused', 'skipped', 'excluded', 'overlap')),                 -- suppressed
  count       int not null check (count >= 1),
  decided_at  timestamptz not null,
  primary key (schedule_id, from_time, reason)
);

-- Durable counters: `stat` holds sums, `stat_delta` what was added since the last fold.
-- Writers only append, so that counting never blocks and never deadlocks. A histogram has a row for
-- each of its buckets that something fell into: `le` is the bucket's upper bound, and `total` the sum
-- of what was observed in it, in millionths, because whole numbers add up to the same in any order.
create table cronledger.stat (
  metric text not null,
  labels text[] not null,               -- values, in the catalogue's order
  le     double precision not null default 'Infinity',
  n      bigint not null,
  total  numeric not null default 0,
  primary key (metric, labels, le)
);
create table cronledger.stat_delta (
  metric text not null,
  labels text[] not null,
  le     double precision not null default 'Infinity',
  n      bigint not null,
  total  bigint not null default 0
);

-- The latest logical time of a schedule that was ever recorded; the deltas are folded in as those above.
-- To look it up among the occurrences would touch a part of their index for each schedule.
create table cronledger.newest (
  schedule_id  int primary key,
  logical_time timestamptz not null
);
create table cronledger.newest_delta (
  schedule_id  int not null,
  logical_time timestamptz not null
);

-- When an occurrence of a schedule last completed; deltas as above.
create table cronledger.success (
  schedule_id int primary key,
  at          timestamptz not null
);
create table cronledger.success_delta (
  schedule_id int not null,
  at          timestamptz not null
);

-- One row: what concerns the ledger as a whole.
create table cronledger.ledger (
  singleton     boolean primary key default true check (singleton),
  reconciled_at timestamptz,
  -- How many retries a minute all queues together may have; null is any number.
  retry_budget  int check (retry_budget >= 0),
  budget_mode   text not null default 'defer' check (budget_mode in ('defer', 'dead')),
  -- How long finished jobs, the keys of jobs that no schedule owes, and receipts are kept.
  keep_jobs     interval not null default '14 days' check (keep_jobs >= '1 day'),
  keep_keys     interval not null default '35 days',
  keep_receipts interval not null default '90 days',
  check (keep_keys >= keep_jobs and keep_receipts >= keep_keys)
);
insert into cronledger.ledger default values;
