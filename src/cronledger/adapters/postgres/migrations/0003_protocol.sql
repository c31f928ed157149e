-- The protocol: every change of a job's state is one of these functions, for workers in any
-- language. A settlement names its lease by token; no row means the lease is someone else's now.

create function cronledger.count_delta(p_metric text, p_labels text[], p_n bigint) returns void
language sql as $$
  insert into cronledger.stat_delta (metric, labels, n) select p_metric, p_labels, p_n where p_n > 0
$$;

-- Write occurrences and their jobs, once each, in one statement. Keys that exist already are left
-- as they are and not returned. Keys are sorted, so that concurrent batches cannot deadlock.
-- p_run_ats: when each job may start: splay and the pace of a catch-up move it, never the key.
create function cronledger.enqueue_occurrences(
  p_schedule_ids int[], p_logical_times timestamptz[], p_run_ats timestamptz[], p_versions int[],
  p_utc_offsets int[], p_folds boolean[], p_moved boolean[], p_collapsed int[],
  p_tzdata text, p_via text, p_as_of timestamptz,
  p_spec_ids int[], p_queues text[], p_kinds text[], p_payloads jsonb[], p_priorities int[],
  p_max_attempts int[], p_timeouts interval[])
returns table (schedule_id int, logical_time timestamptz, job_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with spec as materialized (
    select s.id, s.name, q.id as queue_id, q.name as queue, t.kind, t.payload, t.priority,
           coalesce(t.max_attempts, q.max_attempts) as max_attempts,
           coalesce(t.timeout, q.timeout) as timeout
      from unnest(p_spec_ids, p_queues, p_kinds, p_payloads, p_priorities, p_max_attempts,
                  p_timeouts)
           as t(id, queue, kind, payload, priority, max_attempts, timeout)
      join cronledger.schedule s on s.id = t.id
      join cronledger.queue q on q.name = t.queue),
  given as materialized (
    select k.*, nextval(pg_get_serial_sequence('cronledger.job', 'id')) as new_job_id
      from (select distinct on (u.schedule_id, u.logical_time) u.*
              from unnest(p_schedule_ids, p_logical_times, p_run_ats, p_versions, p_utc_offsets,
                          p_folds, p_moved, p_collapsed)
                   as u(schedule_id, logical_time, run_at, version, utc_offset, fold, moved,
                        collapsed)
              join spec on spec.id = u.schedule_id
             order by u.schedule_id, u.logical_time) k),
  fresh as (
    insert into cronledger.occurrence
           (schedule_id, logical_time, version, utc_offset, fold, moved, collapsed, tzdata, via,
            as_of, job_id, recorded_at, enqueued_at)
    select g.schedule_id, g.logical_time, g.version, g.utc_offset, g.fold, g.moved, g.collapsed,
           p_tzdata, p_via, p_as_of, g.new_job_id, cronledger.now(), cronledger.now()
      from given g order by g.schedule_id, g.logical_time
    on conflict do nothing
    returning occurrence.schedule_id, occurrence.logical_time, occurrence.job_id),
  job as (
    insert into cronledger.job
           (id, key, logical_time, run_at, created_at, queue_id, schedule_id, kind, payload,
            priority, max_attempts, timeout)
    select f.job_id,
           spec.name || ':'
             || to_char(f.logical_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
           f.logical_time, g.run_at, cronledger.now(), spec.queue_id, f.schedule_id,
           spec.kind, spec.payload, spec.priority, spec.max_attempts, spec.timeout
      from fresh f
      join spec on spec.id = f.schedule_id
      join given g on g.new_job_id = f.job_id
    returning job.id, job.run_at, job.queue_id, job.priority, job.max_attempts, job.kind),
  -- Claimable since it came into being: a key from the past was not claimable in the past.
  ready as (
    insert into cronledger.ready (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind)
    select id, cronledger.now(), queue_id, priority, 0, max_attempts, kind
      from job where run_at <= cronledger.now()),
  deferred as (
    insert into cronledger.deferred
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind)
    select id, run_at, queue_id, priority, 0, max_attempts, kind
      from job where run_at > cronledger.now()),
  counted as (
    insert into cronledger.stat_delta (metric, labels, n)
    select 'cronledger_occurrences_recorded_total', array['default', p_via], count(*)
      from fresh having count(*) > 0
    union all
    select 'cronledger_jobs_created_total', array[spec.queue, spec.kind], count(*)
      from fresh join spec on spec.id = fresh.schedule_id group by spec.queue, spec.kind)
  select f.schedule_id, f.logical_time, f.job_id from fresh f
   order by f.schedule_id, f.logical_time;
end $$;

-- Move due deferred jobs to ready. Every claimer does it, so no leader is needed.
create function cronledger.promote(p_queue_id int, p_limit int) returns void
language sql as $$
  with due as (
    delete from cronledger.deferred where job_id = any (array(
      select d.job_id from cronledger.deferred d
       where d.queue_id = p_queue_id and d.eligible_at <= cronledger.now()
       order by d.eligible_at limit p_limit for update skip locked))
    returning *)
  insert into cronledger.ready
         (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, kind)
  select job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, kind
    from due
$$;

-- Lease up to p_limit jobs of the queues named, in the order named (of every queue, by name, where
-- none is); none of a paused queue, none of a kind not named. The inner array keeps a generic plan on the index.
create function cronledger.claim(p_queues text[], p_kinds text[], p_limit int, p_worker text)
returns table (job_id bigint, token bigint, key text, kind text, queue text, payload jsonb,
               logical_time timestamptz, attempt smallint, max_attempts smallint,
               eligible_at timestamptz, claimed_at timestamptz, expires_at timestamptz,
               lease interval, timeout interval)
language plpgsql as $$
#variable_conflict use_column
declare
  wanted cronledger.queue;
  room int := p_limit;
  got int;
begin
  for wanted in
    select q.* from cronledger.queue q
      left join unnest(p_queues) with ordinality as u(name, place) on u.name = q.name
     where q.paused_at is null and (u.name is not null or cardinality(p_queues) = 0)
     order by u.place, q.name
  loop
    exit when room <= 0;
    perform cronledger.promote(wanted.id, 1000);
    return query
    with taken as (
      delete from cronledger.ready r where r.ctid = any (array(
        select c.ctid from cronledger.ready c
         where c.queue_id = wanted.id and c.kind = any (p_kinds)
           and c.eligible_at <= cronledger.now()
         order by c.priority, c.eligible_at, c.job_id
         limit room for update skip locked))
      returning r.*),
    leased as (
      insert into cronledger.lease as l
             (job_id, token, eligible_at, claimed_at, first_claimed_at, expires_at, queue_id,
              priority, attempt, max_attempts, kind, worker)
      select t.job_id, nextval('cronledger.lease_token'), t.eligible_at, cronledger.now(),
             coalesce(t.first_claimed_at, cronledger.now()), cronledger.now() + wanted.lease,
             t.queue_id, t.priority, t.attempt + 1, t.max_attempts, t.kind, p_worker
        from taken t
      returning l.*)
    select l.job_id, l.token, j.key, l.kind, wanted.name, j.payload, j.logical_time, l.attempt,
           l.max_attempts, l.eligible_at, l.claimed_at, l.expires_at, wanted.lease, j.timeout
      from leased l join cronledger.job j on j.id = l.job_id
     order by l.priority, l.eligible_at, l.job_id;
    get diagnostics got = row_count;
    room := room - got;
  end loop;
end $$;

-- Extend the leases that are still ours. A job missing from the answer has lost its lease.
-- An extension never shortens a lease, also when the database's clock was set back.
create function cronledger.extend(p_job_ids bigint[], p_tokens bigint[])
returns table (job_id bigint, expires_at timestamptz)
language sql as $$
  update cronledger.lease l
     set expires_at = greatest(l.expires_at, cronledger.now() + q.lease)
    from cronledger.queue q
   where l.job_id = any (p_job_ids) and l.token = any (p_tokens) and q.id = l.queue_id
  returning l.job_id, l.expires_at
$$;

create function cronledger.count_stale(p_job_ids bigint[]) returns void
language sql as $$
  insert into cronledger.stat_delta (metric, labels, n)
  select 'cronledger_stale_completions_rejected_total', array[q.name, j.kind], count(*)
    from cronledger.job j join cronledger.queue q on q.id = j.queue_id
   where j.id = any (p_job_ids) group by q.name, j.kind
$$;

-- Complete jobs under their leases; returns those that were. The others are stale: refused, counted.
create function cronledger.complete(p_job_ids bigint[], p_tokens bigint[]) returns setof bigint
language plpgsql as $$
declare
  settled bigint[];
begin
  with done as (
    delete from cronledger.lease l
     where l.job_id = any (p_job_ids) and l.token = any (p_tokens)
    returning l.*),
  kept as (
    insert into cronledger.outcome
           (job_id, claimed_at, first_claimed_at, finished_at, queue_id, attempt, state, worker)
    select d.job_id, d.claimed_at, d.first_claimed_at, cronledger.now(), d.queue_id, d.attempt,
           'completed', d.worker
      from done d),
  counted as (
    insert into cronledger.stat_delta (metric, labels, n)
    select m.metric, array[q.name, d.kind, 'completed'], count(*)
      from done d join cronledger.queue q on q.id = d.queue_id,
           (values ('cronledger_attempts_total'), ('cronledger_jobs_finished_total')) as m(metric)
     group by m.metric, q.name, d.kind)
  select array_agg(d.job_id) into settled from done d;
  if cardinality(coalesce(settled, '{}')) < cardinality(p_job_ids) then
    perform cronledger.count_stale(array(
      select g.id from unnest(p_job_ids) as g(id) where g.id <> all (coalesce(settled, '{}'))));
  end if;
  return query select unnest(settled);
end $$;

-- How long after attempt n the next may start: min(base * 2^n, cap) times a factor in [0.5, 1.5).
-- p_draw is uniform in [0, 1).
create function cronledger.backoff(p_attempt int, p_base interval, p_cap interval,
                                   p_draw double precision) returns interval
language sql immutable as $$
  select least(p_base * power(2, least(p_attempt, 40)), p_cap) * (0.5 + p_draw)
$$;

-- What follows a lease that ended without completion: retrying or dead. The lease row is gone already.
create function cronledger.after_failure(p_lease cronledger.lease, p_error_class text, p_error text,
                                         p_retryable boolean, p_retry_after interval)
returns text language plpgsql as $$
declare
  line cronledger.queue;
  decided text;
begin
  select * into strict line from cronledger.queue q where q.id = p_lease.queue_id;
  if p_retryable and p_lease.attempt < p_lease.max_attempts then
    decided := 'retrying';
    insert into cronledger.deferred
           (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, kind,
            error_class, error)
    values (p_lease.job_id,
            cronledger.now() + coalesce(p_retry_after,
              cronledger.backoff(p_lease.attempt, line.backoff_base, line.backoff_cap, random())),
            p_lease.first_claimed_at, p_lease.queue_id, p_lease.priority, p_lease.attempt,
            p_lease.max_attempts, p_lease.kind, p_error_class, left(p_error, 500));
  else
    decided := 'dead';
    insert into cronledger.outcome
           (job_id, claimed_at, first_claimed_at, finished_at, queue_id, attempt, state, worker,
            error_class)
    values (p_lease.job_id, p_lease.claimed_at, p_lease.first_claimed_at, cronledger.now(),
            p_lease.queue_id, p_lease.attempt, 'dead', p_lease.worker, p_error_class);
    insert into cronledger.dead (job_id, dead_at, queue_id, attempt, kind, error_class, error)
    values (p_lease.job_id, cronledger.now(), p_lease.queue_id, p_lease.attempt, p_lease.kind,
            p_error_class, left(p_error, 2000));
    perform cronledger.count_delta('cronledger_jobs_finished_total',
                                   array[line.name, p_lease.kind, 'dead'], 1);
  end if;
  perform cronledger.count_delta('cronledger_attempts_total', array[line.name, p_lease.kind,
    case when p_error_class = 'lease_expired' then 'lease_expired'
         when decided = 'dead' then 'dead' else 'retry' end], 1);
  return decided;
end $$;

-- Fail one attempt under its lease: 'retrying', 'dead', or 'stale' if the lease is not ours.
create function cronledger.fail(p_job_id bigint, p_token bigint, p_error_class text, p_error text,
                                p_retryable boolean default true,
                                p_retry_after interval default null)
returns text language plpgsql as $$
declare
  held cronledger.lease;
begin
  delete from cronledger.lease l where l.job_id = p_job_id and l.token = p_token
  returning l.* into held;
  if not found then
    perform cronledger.count_stale(array[p_job_id]);
    return 'stale';
  end if;
  return cronledger.after_failure(held, p_error_class, p_error, p_retryable, p_retry_after);
end $$;

-- Take back expired leases; each counts as an attempt. Returns how many. Any process may call it.
create function cronledger.rescue(p_limit int) returns int
language plpgsql as $$
declare
  held cronledger.lease;
  line text;
  n int := 0;
begin
  for held in
    delete from cronledger.lease l where l.job_id = any (array(
      select e.job_id from cronledger.lease e where e.expires_at <= cronledger.now()
       order by e.job_id limit p_limit for update skip locked))
    returning l.*
  loop
    perform cronledger.after_failure(held, 'lease_expired',
                                     'the lease of ' || held.worker || ' expired', true, null);
    select q.name into line from cronledger.queue q where q.id = held.queue_id;
    perform cronledger.count_delta('cronledger_leases_expired_total', array[line, held.kind], 1);
    n := n + 1;
  end loop;
  return n;
end $$;
