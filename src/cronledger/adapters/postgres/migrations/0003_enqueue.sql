-- Enqueue: occurrences and their jobs come into being here, once each.

create function cronledger.count_delta(p_metric text, p_labels text[], p_n bigint) returns void
language sql as $$
  insert into cronledger.stat_delta (metric, labels, n) select p_metric, p_labels, p_n where p_n > 0
$$;

-- The upper bounds of the buckets; above the last is everything else. As the catalogue has them.
create function cronledger.bounds_of_spans() returns double precision[]
language sql immutable parallel safe as $$
  select '{0.05,0.1,0.25,0.5,1,2.5,5,10,30,60,120,300,600,1800,3600,14400,86400}'::double precision[]
$$;
create function cronledger.bounds_of_starts() returns double precision[]
language sql immutable parallel safe as $$
  select '{0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10,30}'::double precision[]
$$;
create function cronledger.bounds_of_attempts() returns double precision[]
language sql immutable parallel safe as $$
  select '{1,2,3,4,5,6,8,10,15,20}'::double precision[]
$$;

-- The bound of the bucket of a value, which is in it if it is equal; values are whole millionths.
create function cronledger.bucket(p_value double precision, p_bounds double precision[])
returns double precision language sql immutable parallel safe as $$
  select case when p_value is not null
              then coalesce(p_bounds[width_bucket(p_value - 5e-7, p_bounds) + 1], 'Infinity') end
$$;

-- What somebody says that a span was, if it can be; null stays null, which greatest() would pass over.
create function cronledger.not_negative(p_value double precision) returns double precision
language sql immutable parallel safe as $$
  select case when p_value < 0 then 0 else p_value end
$$;

-- Seconds between two instants of the database's clock, which may have been set back in between.
create function cronledger.seconds(p_from timestamptz, p_to timestamptz) returns double precision
language sql stable parallel safe as $$
  select greatest(date_part('epoch', p_to) - date_part('epoch', p_from), 0)
$$;

-- One observation of a histogram; none if the value is null.
create function cronledger.observe(p_metric text, p_labels text[], p_value double precision,
                                   p_bounds double precision[]) returns void
language sql as $$
  insert into cronledger.stat_delta (metric, labels, le, n, total)
  select p_metric, p_labels, cronledger.bucket(p_value, p_bounds), 1, (p_value * 1e6)::bigint
   where p_value is not null
$$;

-- Write occurrences and their jobs, once each, in one statement. Keys that exist already are left
-- as they are and not returned, and so are those that may have existed and are pruned. Keys are
-- sorted, so that concurrent batches cannot deadlock.
-- p_run_ats: when each job may start: splay and the pace of a catch-up move it, never the key.
-- p_jobs: what the occurrences of each schedule become, as an array of objects.
create function cronledger.enqueue_occurrences(
  p_schedule_ids int[], p_logical_times timestamptz[], p_run_ats timestamptz[], p_versions int[],
  p_utc_offsets int[], p_folds boolean[], p_moved boolean[], p_collapsed int[],
  p_via text, p_as_of timestamptz,
  p_jobs jsonb)
returns table (schedule_id int, logical_time timestamptz, job_id bigint)
language plpgsql
-- Rows of a batch are joined by hashing: the planner takes a batch for a handful of rows, and the
-- nested loop that it then likes reads the batch again for each of its keys. Planning anew for each
-- call would cost more than a call of one key does.
set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  today bigint := cronledger.day_of_ids(cronledger.now());
begin
  perform cronledger.wait_for_pruning(p_logical_times);
  return query
  with spec as materialized (
    -- One look at the key for each schedule: a join without nested loops would read them all.
    select t.id, (select s from cronledger.schedule s where s.id = t.id) as schedule,
           q.id as queue_id, q.name as queue, t.kind, t.payload, t.priority,
           coalesce(t.max_attempts, q.max_attempts) as max_attempts,
           coalesce(t.timeout, q.timeout) as timeout, t.ordering_key, t.tenant,
           coalesce(t.schema_version, 1) as schema_version, t.headers
      from jsonb_to_recordset(p_jobs)
           as t(id int, queue text, kind text, payload jsonb, priority int, max_attempts int,
                timeout interval, ordering_key text, tenant text, schema_version int, headers jsonb)
      join cronledger.queue q on q.name = t.queue),
  given as materialized (
    select k.*, today + nextval('cronledger.job_number') as new_job_id
      from (select distinct on (u.schedule_id, u.logical_time) u.*
              from unnest(p_schedule_ids, p_logical_times, p_run_ats, p_versions, p_utc_offsets,
                          p_folds, p_moved, p_collapsed)
                   as u(schedule_id, logical_time, run_at, version, utc_offset, fold, moved,
                        collapsed)
              join spec on spec.id = u.schedule_id and (spec.schedule).id is not null
               and ((spec.schedule).pruned_to is null or u.logical_time >= (spec.schedule).pruned_to)
             order by u.schedule_id, u.logical_time) k),
  fresh as (
    insert into cronledger.occurrence
           (schedule_id, logical_time, version, utc_offset, fold, moved, collapsed, via,
            as_of, job_id, recorded_at, enqueued_at)
    select g.schedule_id, g.logical_time, g.version, g.utc_offset, g.fold, g.moved, g.collapsed,
           p_via, p_as_of, g.new_job_id, cronledger.now(), cronledger.now()
      from given g order by g.schedule_id, g.logical_time
    on conflict do nothing
    returning occurrence.schedule_id, occurrence.logical_time, occurrence.job_id),
  job as (
    insert into cronledger.job
           (id, key, logical_time, run_at, created_at, queue_id, schedule_id, kind, payload,
            priority, max_attempts, timeout, schema_version, ordering_key, tenant, headers)
    select f.job_id,
           (spec.schedule).name || ':'
             || to_char(f.logical_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
           f.logical_time, g.run_at, cronledger.now(), spec.queue_id, f.schedule_id,
           spec.kind, spec.payload, spec.priority, spec.max_attempts, spec.timeout,
           spec.schema_version, spec.ordering_key, spec.tenant, spec.headers
      from fresh f
      join spec on spec.id = f.schedule_id
      join given g on g.new_job_id = f.job_id
    returning job.id, job.run_at, job.queue_id, job.priority, job.max_attempts, job.kind,
              job.schema_version, job.ordering_key, job.tenant, job.schedule_id, job.logical_time),
  owed as (
    select job.*, job.logical_time + (spec.schedule).objective as deliver_by
      from job join spec on spec.id = job.schedule_id),
  -- Claimable since it came into being: a key from the past was not claimable in the past.
  ready as (
    insert into cronledger.ready
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind,
            schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at, for_schedule)
    select id, cronledger.now(), queue_id, priority, 0, max_attempts, kind,
           schema_version, ordering_key, tenant, schedule_id, deliver_by, logical_time, schedule_id
      from owed where run_at <= cronledger.now()),
  deferred as (
    insert into cronledger.deferred
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind,
            schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at, for_schedule)
    select id, run_at, queue_id, priority, 0, max_attempts, kind,
           schema_version, ordering_key, tenant, schedule_id, deliver_by, logical_time, schedule_id
      from owed where run_at > cronledger.now()),
  counted as (
    insert into cronledger.stat_delta (metric, labels, n)
    select 'cronledger_occurrences_recorded_total', array[(spec.schedule).class, p_via], count(*)
      from fresh join spec on spec.id = fresh.schedule_id group by (spec.schedule).class
    union all
    select 'cronledger_jobs_created_total', array[spec.queue, spec.kind], count(*)
      from fresh join spec on spec.id = fresh.schedule_id group by spec.queue, spec.kind),
  newest as (
    insert into cronledger.newest_delta (schedule_id, logical_time)
    select f.schedule_id, max(f.logical_time) from fresh f group by f.schedule_id),
  -- Of ticks alone: what a person fills in long afterwards says nothing about us.
  observed as (
    insert into cronledger.stat_delta (metric, labels, le, n, total)
    select 'cronledger_enqueue_lag_seconds', array[l.class],
           cronledger.bucket(l.lag, cronledger.bounds_of_spans()), count(*),
           sum((l.lag * 1e6)::bigint)
      from (select (spec.schedule).class,
                   cronledger.seconds(fresh.logical_time, cronledger.now()) as lag
              from fresh join spec on spec.id = fresh.schedule_id where p_via = 'tick') l
     group by 2, 3)
  select f.schedule_id, f.logical_time, f.job_id from fresh f
   order by f.schedule_id, f.logical_time;
  if found and cronledger.now() >= any (p_run_ats) then
    perform cronledger.wake(q.id) from cronledger.queue q
     where q.name in (select job ->> 'queue' from jsonb_array_elements(p_jobs) job);
  end if;
end $$;

-- A payload travels with every claim, so it is small; what is large is kept elsewhere.
create function cronledger.refuse_large(p_payloads jsonb[]) returns void
language plpgsql immutable as $$
begin
  if exists (select from unnest(p_payloads) as p(body) where octet_length(p.body::text) > 65536) then
    raise exception 'a payload has more than 65536 bytes; keep it elsewhere and enqueue a reference'
      using errcode = 'program_limit_exceeded';
  end if;
end $$;

-- Write jobs that no schedule owes, once for each key of a queue, in the caller's transaction; gives
-- for each key the job that has it, new or not. A key that exists is no error. Keys are sorted, so
-- that concurrent batches cannot deadlock. Lengths of all arrays are equal; of a key that stands
-- twice the first counts. p_run_ats: null is now.
create function cronledger.enqueue_once(
  p_queue text, p_kind text, p_keys text[], p_payloads jsonb[], p_run_ats timestamptz[],
  p_priority int default 0, p_ordering_keys text[] default null,
  p_max_attempts int default null, p_timeout interval default null,
  p_schema_version int default 1, p_tenants text[] default null, p_headers jsonb[] default null)
returns table (key text, job_id bigint, inserted boolean)
language plpgsql                                    -- as enqueue_occurrences()
set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  line cronledger.queue;
  fresh bigint[];
  today bigint := cronledger.day_of_ids(cronledger.now());
begin
  select q.* into line from cronledger.queue q where q.name = p_queue;
  if not found then
    raise exception 'there is no queue %; declare it in the schedule file, or let a job name it',
                    p_queue using errcode = 'no_data_found';
  end if;
  perform cronledger.refuse_large(p_payloads);
  -- A batch that begins with a known key is likely known whole, and then there is only reading to do.
  if exists (select from cronledger.job_key k where k.queue_id = line.id and k.key = p_keys[1])
     and (select count(*) from cronledger.job_key k
           where k.queue_id = line.id and k.key = any (p_keys))
       = (select count(distinct u.key) from unnest(p_keys) as u(key)) then
    return query
    select k.key, k.job_id, false
      from cronledger.job_key k where k.queue_id = line.id and k.key = any (p_keys)
     order by k.key;
    return;
  end if;
  with given as materialized (
    select distinct on (u.key) u.key, u.payload, coalesce(u.run_at, cronledger.now()) as run_at,
           u.ordering_key, u.tenant, u.headers,
           today + nextval('cronledger.job_number') as new_job_id
      from unnest(p_keys, p_payloads, p_run_ats, p_ordering_keys, p_tenants, p_headers)
           with ordinality as u(key, payload, run_at, ordering_key, tenant, headers, place)
     order by u.key, u.place),
  taken as (
    insert into cronledger.job_key (queue_id, key, job_id, created_at)
    select line.id, g.key, g.new_job_id, cronledger.now() from given g order by g.key
    on conflict do nothing returning job_key.job_id),
  job as (
    insert into cronledger.job (id, key, run_at, created_at, queue_id, kind, payload, priority,
                                max_attempts, timeout, schema_version, ordering_key, tenant,
                                headers)
    select g.new_job_id, g.key, g.run_at, cronledger.now(), line.id, p_kind,
           coalesce(g.payload, '{}'), p_priority, coalesce(p_max_attempts, line.max_attempts),
           coalesce(p_timeout, line.timeout), p_schema_version, g.ordering_key, g.tenant,
           g.headers
      from given g join taken t on t.job_id = g.new_job_id
    returning job.id, job.run_at, job.max_attempts, job.ordering_key, job.tenant),
  ready as (
    insert into cronledger.ready
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind,
            schema_version, ordering_key, tenant, due_at)
    select id, cronledger.now(), line.id, p_priority, 0, max_attempts, p_kind,
           p_schema_version, ordering_key, tenant, run_at
      from job where run_at <= cronledger.now()),
  deferred as (
    insert into cronledger.deferred
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind,
            schema_version, ordering_key, tenant, due_at)
    select id, run_at, line.id, p_priority, 0, max_attempts, p_kind,
           p_schema_version, ordering_key, tenant, run_at
      from job where run_at > cronledger.now())
  select array_agg(t.job_id) into fresh from taken t;
  perform cronledger.count_delta('cronledger_jobs_created_total', array[p_queue, p_kind],
                                 coalesce(cardinality(fresh), 0));
  if fresh is not null and coalesce(cronledger.now() >= any (p_run_ats), true) then
    perform cronledger.wake(line.id);
  end if;
  -- A second statement: its snapshot sees what another transaction has committed meanwhile.
  return query
  select k.key, k.job_id, k.job_id = any (coalesce(fresh, '{}'))
    from cronledger.job_key k where k.queue_id = line.id and k.key = any (p_keys)
   order by k.key;
end $$;
