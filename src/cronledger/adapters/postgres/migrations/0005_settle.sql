-- Settlements: how an attempt ends.

create function cronledger.count_stale(p_job_ids bigint[]) returns void
language sql as $$
  insert into cronledger.stat_delta (metric, labels, n)
  select 'cronledger_stale_completions_rejected_total', array[q.name, j.kind], count(*)
    from cronledger.job j join cronledger.queue q on q.id = j.queue_id
   where j.id = any (p_job_ids) group by q.name, j.kind
$$;

-- Occurrences of these schedules have completed just now.
create function cronledger.count_delivered(p_schedule_ids int[], p_deliver_bys timestamptz[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  with ended as (
    select u.schedule_id, u.deliver_by >= cronledger.now() as on_time, count(*) as n
      from unnest(p_schedule_ids, p_deliver_bys) as u(schedule_id, deliver_by) group by 1, 2),
  succeeded as (
    insert into cronledger.success_delta (schedule_id, at)
    select distinct e.schedule_id, cronledger.now() from ended e)
  insert into cronledger.stat_delta (metric, labels, n)
  select 'cronledger_deliveries_total',
         array[s.class, case when e.on_time then 'on_time' else 'late' end], sum(e.n)
    from ended e join cronledger.schedule s on s.id = e.schedule_id group by s.class, e.on_time;
end $$;

-- Complete jobs under their leases; returns those that were. The others are stale: refused, counted.
-- p_started, p_ran: how many seconds after its claim the handler of each job began, and for how long it
-- ran, by the clock of the worker. A null of either says that nobody knows: then the first is not
-- counted, and the second is the time from the claim until now.
create function cronledger.complete(p_job_ids bigint[], p_tokens bigint[],
                                    p_started double precision[] default null,
                                    p_ran double precision[] default null) returns setof bigint
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  settled bigint[];
  of_schedules int[];
  deliver_bys timestamptz[];
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
  -- Each job is looked at once; a batch leaves a few rows, mostly of one kind and alike.
  alike as materialized (
    select t.queue_id, t.kind, t.attempt,
           cronledger.bucket(t.started, cronledger.bounds_of_starts()) as started_le,
           cronledger.bucket(t.ran, cronledger.bounds_of_spans()) as ran_le,
           count(*) as n, sum((t.started * 1e6)::bigint) as started, sum((t.ran * 1e6)::bigint) as ran
      from (select d.queue_id, d.kind, d.attempt, cronledger.not_negative(u.started) as started,
                   cronledger.not_negative(
                     coalesce(u.ran, cronledger.seconds(d.claimed_at, cronledger.now()))) as ran
              from done d
              left join (select g.token, min(g.started) as started, min(g.ran) as ran
                           from unnest(p_tokens, p_started, p_ran) as g(token, started, ran)
                          where p_started is not null or p_ran is not null
                          group by g.token) u on u.token = d.token) t
     group by 1, 2, 3, 4, 5),
  counted as (
    insert into cronledger.stat_delta (metric, labels, le, n, total)
    select m.metric, case when m.ended then array[q.name, a.kind, 'completed']
                          else array[q.name, a.kind] end, m.le, a.n, m.total
      from alike a
      join cronledger.queue q on q.id = a.queue_id
     cross join lateral (values
       ('cronledger_attempts_total', true, 'Infinity', 0),
       ('cronledger_jobs_finished_total', true, 'Infinity', 0),
       ('cronledger_job_attempts', false, cronledger.bucket(a.attempt, cronledger.bounds_of_attempts()),
        a.n * a.attempt * 1000000),
       ('cronledger_job_claim_to_start_seconds', false, a.started_le, a.started),
       ('cronledger_job_execution_seconds', true, a.ran_le, a.ran)) as m(metric, ended, le, total)
     where m.le is not null)
  select array_agg(d.job_id), array_agg(d.schedule_id) filter (where d.schedule_id is not null),
         array_agg(d.deliver_by) filter (where d.schedule_id is not null)
    into settled, of_schedules, deliver_bys from done d;
  if of_schedules is not null then
    perform cronledger.count_delivered(of_schedules, deliver_bys);
  end if;
  if cardinality(coalesce(settled, '{}')) < cardinality(p_job_ids) then
    perform cronledger.count_stale(array(
      select g.id from unnest(p_job_ids) as g(id) where g.id <> all (coalesce(settled, '{}'))));
  end if;
  perform cronledger.settle_chunks(settled, 'completed');
  return query select unnest(settled);
end $$;

-- How long after attempt n the next may start: min(base * 2^n, cap) times a factor in [0.5, 1.5).
-- p_draw is uniform in [0, 1).
create function cronledger.backoff(p_attempt int, p_base interval, p_cap interval,
                                   p_draw double precision) returns interval
language sql immutable as $$
  select least(p_base * power(2, least(p_attempt, 40)), p_cap) * (0.5 + p_draw)
$$;

-- A job that is not completed has ended as p_state, after so many attempts: what is counted of it.
-- p_schedule_id: of an occurrence.
create function cronledger.count_end(p_queue_id int, p_kind text, p_attempt int, p_state text,
                                     p_schedule_id int) returns void
language sql as $$
  select cronledger.count_delta('cronledger_jobs_finished_total', array[q.name, p_kind, p_state], 1),
         cronledger.observe('cronledger_job_attempts', array[q.name, p_kind], p_attempt,
                            cronledger.bounds_of_attempts())
    from cronledger.queue q where q.id = p_queue_id;
  select cronledger.count_delta('cronledger_deliveries_total', array[s.class, p_state], 1)
    from cronledger.schedule s where s.id = p_schedule_id;
$$;

-- A leased job is finished: its outcome, counted. The lease row is gone already.
create function cronledger.finish(p_lease cronledger.lease, p_state text, p_error_class text)
returns void language sql as $$
  insert into cronledger.outcome
         (job_id, claimed_at, first_claimed_at, finished_at, queue_id, attempt, state, worker,
          error_class)
  values (p_lease.job_id, p_lease.claimed_at, p_lease.first_claimed_at, cronledger.now(),
          p_lease.queue_id, p_lease.attempt, p_state, p_lease.worker, p_error_class);
  select cronledger.count_end(p_lease.queue_id, p_lease.kind, p_lease.attempt, p_state,
                              p_lease.schedule_id);
$$;

-- What follows a lease that ended without completion: retrying, dead, or cancelled if that was
-- asked for. The lease row is gone already. p_started, p_ran: as in complete().
create function cronledger.after_failure(p_lease cronledger.lease, p_error_class text, p_error text,
                                         p_retryable boolean, p_retry_after interval,
                                         p_started double precision default null,
                                         p_ran double precision default null)
returns text language plpgsql as $$
declare
  line cronledger.queue;
  decided text;
  refused text := '';                       -- what becomes of a retry that no budget is left for
  starts timestamptz;
  ended_as text[];
begin
  select * into strict line from cronledger.queue q where q.id = p_lease.queue_id;
  if p_lease.cancel_requested_at is null and p_retryable and p_lease.attempt < p_lease.max_attempts
  then
    refused := cronledger.take_retry(line.id);
    if refused <> '' then
      perform cronledger.count_delta('cronledger_retry_budget_denied_total', array[line.name], 1);
    end if;
    starts := cronledger.now() + coalesce(p_retry_after,
      cronledger.backoff(p_lease.attempt, line.backoff_base, line.backoff_cap, random()));
    if refused = 'defer' then
      -- Not before the next minute, and spread over it.
      starts := greatest(starts, date_trunc('minute', cronledger.now()) + interval '1 minute'
                                 + random() * interval '1 minute');
    end if;
  end if;
  if p_lease.cancel_requested_at is not null then
    decided := 'cancelled';
    perform cronledger.finish(p_lease, 'cancelled', p_error_class);
  elsif p_retryable and p_lease.attempt < p_lease.max_attempts and refused <> 'dead' then
    decided := 'retrying';
    insert into cronledger.deferred
           (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts,
            releases, expiries, kind, schema_version, ordering_key, tenant, schedule_id, deliver_by,
            due_at, for_schedule, error_class, error)
    values (p_lease.job_id, starts, p_lease.first_claimed_at, p_lease.queue_id, p_lease.priority,
            p_lease.attempt, p_lease.max_attempts, p_lease.releases,
            p_lease.expiries + (p_error_class = 'lease_expired')::int, p_lease.kind,
            p_lease.schema_version, p_lease.ordering_key, p_lease.tenant, p_lease.schedule_id,
            p_lease.deliver_by, p_lease.due_at, p_lease.for_schedule, p_error_class,
            left(p_error, 500));
  else
    decided := 'dead';
    if refused = 'dead' then
      p_error := p_error_class || ': ' || p_error;
      p_error_class := 'retry_budget_exhausted';
    end if;
    perform cronledger.finish(p_lease, 'dead', p_error_class);
    insert into cronledger.dead (job_id, dead_at, queue_id, attempt, kind, error_class, error)
    values (p_lease.job_id, cronledger.now(), p_lease.queue_id, p_lease.attempt, p_lease.kind,
            p_error_class, left(p_error, 2000));
  end if;
  ended_as := array[line.name, p_lease.kind,
    case when p_error_class = 'lease_expired' then 'lease_expired'
         when decided = 'retrying' then 'retry' else decided end];
  perform cronledger.count_delta('cronledger_attempts_total', ended_as, 1);
  perform cronledger.observe('cronledger_job_claim_to_start_seconds', ended_as[1:2],
                             cronledger.not_negative(p_started), cronledger.bounds_of_starts());
  perform cronledger.observe('cronledger_job_execution_seconds', ended_as,
    cronledger.not_negative(
      coalesce(p_ran, cronledger.seconds(p_lease.claimed_at, cronledger.now()))),
    cronledger.bounds_of_spans());
  if decided <> 'retrying' then
    perform cronledger.settle_chunks(array[p_lease.job_id], decided);
  end if;
  return decided;
end $$;

-- Fail one attempt under its lease: 'retrying', 'dead', 'cancelled' if that was asked for, or
-- 'stale' if the lease is not ours. p_started, p_ran: as in complete().
create function cronledger.fail(p_job_id bigint, p_token bigint, p_error_class text, p_error text,
                                p_retryable boolean default true,
                                p_retry_after interval default null,
                                p_started double precision default null,
                                p_ran double precision default null)
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
  return cronledger.after_failure(held, p_error_class, p_error, p_retryable, p_retry_after,
                                  p_started, p_ran);
end $$;

-- Take back expired leases; each counts as an attempt. Returns how many. Any process may call it.
create function cronledger.rescue(p_limit int) returns int
language plpgsql as $$
declare
  held cronledger.lease;
  line text;
  n int := 0;
  expired bigint[] := array(
    select e.job_id from cronledger.lease e where e.expires_at <= cronledger.now()
     order by e.job_id limit p_limit for update skip locked);
begin
  perform cronledger.hold_sets(expired);
  for held in
    delete from cronledger.lease l where l.job_id = any (expired) returning l.*
  loop
    perform cronledger.after_failure(held, 'lease_expired',
                                     'the lease of ' || held.worker || ' expired', true, null,
                                     null, cronledger.seconds(held.claimed_at, held.expires_at));
    select q.name into line from cronledger.queue q where q.id = held.queue_id;
    perform cronledger.count_delta('cronledger_leases_expired_total', array[line, held.kind], 1);
    n := n + 1;
  end loop;
  return n;
end $$;

-- Hand leases back, as a worker that shuts down does, and not charge the attempt; a job that was
-- handed back ten times is charged, as after a failure. Returns the jobs that were ours.
create function cronledger.release(p_job_ids bigint[], p_tokens bigint[]) returns setof bigint
language plpgsql as $$
declare
  held cronledger.lease;
begin
  for held in
    delete from cronledger.lease l
     where l.job_id = any (p_job_ids) and l.token = any (p_tokens)
    returning l.*
  loop
    if held.cancel_requested_at is not null or held.releases >= 10 then
      perform cronledger.after_failure(held, 'released', 'handed back by ' || held.worker, true, null);
    else
      perform cronledger.put_back(held);
      perform cronledger.wake(held.queue_id);
    end if;
    return next held.job_id;
  end loop;
end $$;

-- A lease that ends uncharged: the job waits as before. The lease row is gone already.
create function cronledger.put_back(p_lease cronledger.lease) returns void
language sql as $$
  insert into cronledger.ready
         (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, releases,
          expiries, kind, schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at,
          for_schedule)
  values (p_lease.job_id, p_lease.eligible_at, p_lease.first_claimed_at, p_lease.queue_id,
          p_lease.priority, p_lease.attempt - 1, p_lease.max_attempts, p_lease.releases + 1,
          p_lease.expiries, p_lease.kind, p_lease.schema_version, p_lease.ordering_key,
          p_lease.tenant, p_lease.schedule_id, p_lease.deliver_by, p_lease.due_at,
          p_lease.for_schedule);
$$;
