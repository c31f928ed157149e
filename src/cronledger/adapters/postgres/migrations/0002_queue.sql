-- The queue: an immutable body, narrow hot tables (ready, deferred, lease), append-only outcomes.
-- A job is in exactly one of ready, deferred, lease, outcome; only the functions of the protocol move it.

create table cronledger.queue (
  id           int generated always as identity primary key,
  name         text not null unique check (name ~ '^[a-z0-9][a-z0-9_.-]{0,62}$'),
  objective    interval not null default '1 hour' check (objective > '0'),
  lease        interval not null default '60 s' check (lease >= '1 s'),
  max_attempts smallint not null default 8 check (max_attempts between 1 and 100),
  timeout      interval not null default '1 hour' check (timeout > '0'),
  backoff_base interval not null default '2 s' check (backoff_base > '0'),
  backoff_cap  interval not null default '1 hour' check (backoff_cap >= backoff_base),
  retry_budget int check (retry_budget >= 0),        -- retries a minute; null is any number
  budget_mode  text not null default 'defer' check (budget_mode in ('defer', 'dead')),
  tenant_limit int check (tenant_limit >= 1),        -- leased jobs of one tenant; null is any number
  paused_at    timestamptz,
  paused_by    text,
  pause_reason text,
  paused_until timestamptz,
  check ((paused_at is null) = (paused_by is null) and (paused_at is null) = (pause_reason is null)
         and (paused_until is null or paused_at is not null))
);

create sequence cronledger.lease_token;   -- globally unique and rising: the fence

-- The number of a job within its day.
create sequence cronledger.job_number maxvalue 9999999999 cycle;

-- What the ids of the jobs of a day begin with: 261201 0000000042. So a job's id alone tells the
-- partition of its body and its outcome, and a day of history goes by dropping two tables.
create function cronledger.day_of_ids(p_at timestamptz) returns bigint
language sql stable as $$
  select to_char(p_at at time zone 'UTC', 'YYMMDD')::bigint * 10000000000
$$;

create function cronledger.new_job_id() returns bigint
language sql as $$
  select cronledger.day_of_ids(cronledger.now()) + nextval('cronledger.job_number')
$$;

create table cronledger.job (
  id           bigint not null default cronledger.new_job_id() primary key,
  logical_time timestamptz,
  run_at       timestamptz not null,
  created_at   timestamptz not null,
  queue_id     int not null,
  schedule_id  int,
  max_attempts smallint not null check (max_attempts between 1 and 100),
  priority     smallint not null default 0,          -- smaller runs first
  timeout      interval not null check (timeout > '0'),
  key          text not null check (octet_length(key) between 1 and 512),
  -- `@` and a number stand for a schema version in what a worker says it knows.
  kind         text not null check (octet_length(kind) between 1 and 200 and kind !~ '@[0-9]+$'),
  schema_version smallint not null default 1 check (schema_version >= 1),
  ordering_key text check (octet_length(ordering_key) between 1 and 512),
  tenant       text check (octet_length(tenant) between 1 and 200),
  payload      jsonb not null default '{}' check (jsonb_typeof(payload) = 'object'),
  headers      jsonb check (jsonb_typeof(headers) = 'object')   -- of the transport: trace context
) partition by range (id);
create table cronledger.job_default partition of cronledger.job default;

-- The keys of jobs that no schedule owes: what makes enqueue_once() happen once.
create table cronledger.job_key (
  queue_id   int not null,
  key        text not null,
  job_id     bigint not null,
  created_at timestamptz not null,
  primary key (queue_id, key)
);

-- Claimable now.
create table cronledger.ready (
  job_id           bigint primary key,
  eligible_at      timestamptz not null,
  -- When it was due, and the schedule whose run it is or is a part of, if it is one's: copies of what its
  -- job says, so that what is measured joins no history. In front, where a row is read fast.
  due_at           timestamptz not null,
  queue_id         int not null,
  for_schedule     int,
  first_claimed_at timestamptz,
  priority         smallint not null,
  attempt          smallint not null check (attempt >= 0),
  max_attempts     smallint not null,
  releases         smallint not null default 0,      -- times handed back without a charge
  expiries         smallint not null default 0,      -- leases that nobody ended: two make a suspect
  schema_version   smallint not null default 1,
  kind             text not null,
  ordering_key     text,                             -- at most one leased job of a key at a time
  tenant           text,                             -- tenants take turns
  schedule_id      int,                              -- of an occurrence, and of nothing else
  deliver_by       timestamptz,                      -- the objective of that occurrence
  check ((schedule_id is null) = (deliver_by is null))
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- A step of priority is worth a minute of waiting, so that nothing waits for ever.
create function cronledger.rank(p_eligible_at timestamptz, p_priority smallint) returns timestamp
language sql immutable parallel safe as $$
  select (p_eligible_at at time zone 'UTC') + p_priority * interval '1 minute'
$$;
create index ready_claim on cronledger.ready (queue_id, cronledger.rank(eligible_at, priority), job_id)
  where tenant is null and expiries < 2;
-- By a hash first: whoever begins at a random place begins at a random tenant.
create index ready_tenant on cronledger.ready
  (queue_id, hashtext(tenant), tenant, cronledger.rank(eligible_at, priority), job_id)
  where tenant is not null and expiries < 2;
create index ready_suspect on cronledger.ready (queue_id, eligible_at) where expiries >= 2;
create index ready_order on cronledger.ready (ordering_key, job_id) where ordering_key is not null;

-- Not yet claimable: scheduled (attempt 0) and retrying (attempt > 0).
create table cronledger.deferred (
  job_id           bigint primary key,
  eligible_at      timestamptz not null,
  due_at           timestamptz not null,
  queue_id         int not null,
  for_schedule     int,
  first_claimed_at timestamptz,
  priority         smallint not null,
  attempt          smallint not null check (attempt >= 0),
  max_attempts     smallint not null,
  releases         smallint not null default 0,
  expiries         smallint not null default 0,
  schema_version   smallint not null default 1,
  kind             text not null,
  ordering_key     text,
  tenant           text,
  schedule_id      int,
  deliver_by       timestamptz,
  error_class      text,
  error            text,
  check ((attempt = 0) = (error_class is null)),
  check ((schedule_id is null) = (deliver_by is null))
);
create index deferred_due on cronledger.deferred (queue_id, eligible_at);
create index deferred_order on cronledger.deferred (ordering_key, job_id)
  where ordering_key is not null;

-- One attempt in progress. expires_at is not indexed, so that a heartbeat is a HOT update.
create table cronledger.lease (
  job_id           bigint primary key,
  token            bigint not null,
  eligible_at      timestamptz not null,
  due_at           timestamptz not null,
  claimed_at       timestamptz not null,
  first_claimed_at timestamptz not null,
  expires_at       timestamptz not null check (expires_at > claimed_at),
  queue_id         int not null,
  for_schedule     int,
  priority         smallint not null,
  attempt          smallint not null check (attempt >= 1),
  max_attempts     smallint not null,
  releases         smallint not null default 0,
  expiries         smallint not null default 0,
  schema_version   smallint not null default 1,
  kind             text not null,
  ordering_key     text,
  tenant           text,
  schedule_id      int,
  deliver_by       timestamptz,
  worker           text not null,
  -- A human asked it to end: whatever ends the attempt but completion ends the job.
  cancel_requested_at timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

create unique index lease_order on cronledger.lease (ordering_key) where ordering_key is not null;
create index lease_tenant on cronledger.lease (queue_id, tenant) where tenant is not null;

-- How a job ended. A replay takes the row away; nothing changes one.
create table cronledger.outcome (
  job_id           bigint primary key,
  claimed_at       timestamptz,
  first_claimed_at timestamptz,
  finished_at      timestamptz not null,
  queue_id         int not null,
  attempt          smallint not null,
  state            text not null check (state in ('completed', 'cancelled', 'dead')),
  worker           text,
  error_class      text,
  check (state <> 'completed' or claimed_at is not null)
) partition by range (job_id);
create table cronledger.outcome_default partition of cronledger.outcome default;

-- Dead letters: terminal, waiting for a human until they are replayed or discarded.
create table cronledger.dead (
  job_id       bigint primary key,
  dead_at      timestamptz not null,
  discarded_at timestamptz,
  queue_id     int not null,
  attempt      smallint not null,
  kind         text not null,
  error_class  text not null,
  error        text not null
);
create index dead_age on cronledger.dead (queue_id, dead_at) where discarded_at is null;
