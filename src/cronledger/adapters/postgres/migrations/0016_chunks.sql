-- Chunks: a job splits its work into jobs with names, and one more job follows when all of them are
-- completed. A set belongs to the job that splits. Its row counts how its chunks ended; whoever ends
-- one holds that row until commit, so that of all that finish at once one sees that it is the last.

create table cronledger.chunk_set (
  id                  bigint primary key,           -- of the job that splits, as what follows is
  key                 text not null,
  logical_time        timestamptz,
  schedule_id         int,
  priority            smallint not null,
  tenant              text,
  headers             jsonb,
  created_at          timestamptz not null,
  last_id             bigint,                       -- the chunk that was added last
  total               int not null default 0,
  completed           int not null default 0 check (completed >= 0),
  dead                int not null default 0 check (dead >= 0),
  cancelled           int not null default 0 check (cancelled >= 0),
  sealed_at           timestamptz,                  -- no chunk is added any more
  then_kind           text check (octet_length(then_kind) between 1 and 200
                                  and then_kind !~ '@[0-9]+$'),
  then_schema_version smallint not null default 1 check (then_schema_version >= 1),
  then_queue_id       int,
  then_payload        jsonb not null default '{}' check (jsonb_typeof(then_payload) = 'object'),
  then_id             bigint,                       -- the follow-up, once it is enqueued
  finished_at         timestamptz,
  check (completed + dead + cancelled <= total),
  check ((then_kind is null) = (then_queue_id is null) and (then_kind is null or sealed_at is not null)),
  -- Finished is sealed and all completed, and then, and only then, there is a follow-up.
  check (finished_at is null or (sealed_at is not null and completed = total)),
  check ((then_id is not null) = (finished_at is not null and then_kind is not null))
) with (fillfactor = 50);

-- How a chunk ended is where its job stands, and in the counts of its set.
create table cronledger.chunk (
  job_id bigint primary key,
  set_id bigint not null references cronledger.chunk_set on delete cascade,
  -- Without `#`, so that no key is that of two chunks; `then` is the name of the follow-up.
  name   text not null check (octet_length(name) between 1 and 200 and name !~ '#' and name <> 'then'),
  unique (set_id, name)
);

-- A set that is sealed and whose chunks are all completed is finished, once: its follow-up is
-- enqueued in this transaction. The caller has changed the set's row, and so holds it.
create function cronledger.finish_set(p_set_id bigint) returns void
language plpgsql as $$
declare
  ended cronledger.chunk_set;
  line cronledger.queue;
begin
  update cronledger.chunk_set s
     set finished_at = cronledger.now(),
         then_id = case when s.then_kind is not null then cronledger.new_job_id() end
   where s.id = p_set_id and s.sealed_at is not null and s.finished_at is null
     and s.completed = s.total
  returning s.* into ended;
  if not found or ended.then_id is null then
    return;
  end if;
  select q.* into strict line from cronledger.queue q where q.id = ended.then_queue_id;
  insert into cronledger.job
         (id, key, logical_time, run_at, created_at, queue_id, schedule_id, kind, payload,
          priority, max_attempts, timeout, schema_version, tenant, headers)
  values (ended.then_id, ended.key || '#then', ended.logical_time, cronledger.now(),
          cronledger.now(), line.id, ended.schedule_id, ended.then_kind, ended.then_payload,
          ended.priority, line.max_attempts, line.timeout, ended.then_schema_version, ended.tenant, ended.headers);
  insert into cronledger.ready
         (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind, schema_version, tenant,
          due_at, for_schedule)
  values (ended.then_id, cronledger.now(), line.id, ended.priority, 0, line.max_attempts, ended.then_kind,
          ended.then_schema_version, ended.tenant, coalesce(ended.logical_time, cronledger.now()),
          ended.schedule_id);
  perform cronledger.count_delta('cronledger_jobs_created_total',
                                 array[line.name, ended.then_kind], 1);
  perform cronledger.wake(line.id);
end $$;

-- Jobs have ended as p_state: the sets whose chunks they are count it. A job that completes seals its
-- own set at the latest then, since nobody could add to it any more. Rows of sets are locked in the
-- order of their ids, so that nobody waits in a ring.
create function cronledger.settle_chunks(p_job_ids bigint[], p_state text) returns void
language plpgsql set enable_seqscan = off as $$
declare
  line record;
begin
  -- Nearly all jobs have to do with no set, and for them this is all.
  if not exists (select from cronledger.chunk c where c.job_id = any (p_job_ids))
     and not exists (select from cronledger.chunk_set s
                      where s.id = any (p_job_ids) and s.sealed_at is null) then
    return;
  end if;
  for line in
    select u.set_id, sum(u.n)::int as n, bool_or(u.own) as own
      from (select c.set_id, 1 as n, false as own
              from cronledger.chunk c where c.job_id = any (p_job_ids)
             union all
            select s.id, 0, true
              from cronledger.chunk_set s
             where s.id = any (p_job_ids) and s.sealed_at is null and p_state = 'completed') u
     group by u.set_id order by u.set_id
  loop
    update cronledger.chunk_set s
       set completed = s.completed + case when p_state = 'completed' then line.n else 0 end,
           dead = s.dead + case when p_state = 'dead' then line.n else 0 end,
           cancelled = s.cancelled + case when p_state = 'cancelled' then line.n else 0 end,
           sealed_at = case when line.own then coalesce(s.sealed_at, cronledger.now())
                            else s.sealed_at end
     where s.id = line.set_id;
    perform cronledger.finish_set(line.set_id);
  end loop;
end $$;

-- Lock the sets whose chunks these jobs are, in the order of their ids, for whoever goes on to end
-- several of them one by one.
create function cronledger.hold_sets(p_job_ids bigint[]) returns void
language plpgsql set enable_seqscan = off as $$
begin
  perform from cronledger.chunk_set s
    where s.id in (select c.set_id from cronledger.chunk c where c.job_id = any (p_job_ids))
    order by s.id for no key update;
end $$;

-- A dead chunk has come to life again: its set is open again.
create function cronledger.reopen_chunk(p_job_id bigint) returns void
language sql as $$
  update cronledger.chunk_set s set dead = s.dead - 1
    from cronledger.chunk c where c.job_id = p_job_id and s.id = c.set_id
$$;

-- The set of a job, made if need be and locked, for who has the lease of the job; null if the lease is
-- someone else's now. The lease is held until this transaction ends.
create function cronledger.own_set(p_job_id bigint, p_token bigint) returns cronledger.chunk_set
language plpgsql as $$
declare
  own cronledger.chunk_set;
begin
  perform from cronledger.lease l
    where l.job_id = p_job_id and l.token = p_token and l.expires_at > cronledger.now() for key share;
  if not found then
    return null;
  end if;
  insert into cronledger.chunk_set
         (id, key, logical_time, schedule_id, priority, tenant, headers, created_at)
  select j.id, j.key, j.logical_time, j.schedule_id, j.priority, j.tenant, j.headers, cronledger.now()
    from cronledger.job j where j.id = p_job_id
  on conflict do nothing;
  select s.* into strict own from cronledger.chunk_set s where s.id = p_job_id for no key update;
  return own;
end $$;

-- The first of these names whose chunk was added as other work. What an earlier attempt added must mean
-- the same, or some work is done twice and some by nobody.
create function cronledger.other_work(p_set_id bigint, p_kind text, p_schema_version int,
                                      p_names text[], p_payloads jsonb[]) returns text
language sql stable as $$
  -- The limits keep the planner from reading all chunks of the set, or all jobs, for a few of them.
  select min(g.name)
    from unnest(p_names, p_payloads) as g(name, payload)
   cross join lateral (select c.job_id from cronledger.chunk c
                        where c.set_id = p_set_id and c.name = g.name limit 1) c
   cross join lateral (select x.payload, x.kind, x.schema_version from cronledger.job x
                        where x.id = c.job_id limit 1) j
   where j.payload <> coalesce(g.payload, '{}') or j.kind <> p_kind
      or j.schema_version <> p_schema_version
$$;

-- Add chunks to the set of a job under its lease, once for each name of the set, in the order given:
-- jobs whose keys are that of the job, `#` and the name. Returns how many were new; null if the lease
-- is someone else's now. Refused (55000), and nothing is added: a name that has a chunk of another
-- kind or payload, and a new one once the set is sealed. Null in p_run_ats is now, in p_tenants the
-- tenant of the job, as p_queue is its queue.
create function cronledger.split(
  p_job_id bigint, p_token bigint, p_kind text, p_names text[], p_payloads jsonb[],
  p_run_ats timestamptz[] default null, p_tenants text[] default null, p_queue text default null,
  p_max_attempts int default null, p_timeout interval default null, p_schema_version int default 1)
returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_nestloop = off as $$       -- as enqueue_once()
declare
  own cronledger.chunk_set := cronledger.own_set(p_job_id, p_token);
  line cronledger.queue;
  today bigint := cronledger.day_of_ids(cronledger.now());
  fresh bigint[];
  differs text;
begin
  if own.id is null then
    return null;
  end if;
  line := cronledger.queue_of(p_queue, p_job_id);
  perform cronledger.refuse_large(p_payloads);
  with given as materialized (
    select o.*, today + nextval('cronledger.job_number') as new_job_id
      from (select d.* from (
              select distinct on (u.name) u.name, coalesce(u.payload, '{}') as payload,
                     coalesce(u.run_at, cronledger.now()) as run_at,
                     coalesce(u.tenant, own.tenant) as tenant, u.place
                from unnest(p_names, p_payloads, p_run_ats, p_tenants)
                     with ordinality as u(name, payload, run_at, tenant, place)
               order by u.name, u.place) d
             order by d.place) o),
  taken as (
    insert into cronledger.chunk (job_id, set_id, name)
    select g.new_job_id, own.id, g.name from given g
    on conflict do nothing returning chunk.job_id),
  job as (
    insert into cronledger.job
           (id, key, logical_time, run_at, created_at, queue_id, schedule_id, kind, payload,
            priority, max_attempts, timeout, schema_version, tenant, headers)
    select g.new_job_id, own.key || '#' || g.name, own.logical_time, g.run_at, cronledger.now(),
           line.id, own.schedule_id, p_kind, g.payload,
           own.priority, coalesce(p_max_attempts, line.max_attempts),
           coalesce(p_timeout, line.timeout), p_schema_version, g.tenant, own.headers
      from given g join taken t on t.job_id = g.new_job_id
    returning job.id, job.run_at, job.max_attempts, job.tenant),
  ready as (
    insert into cronledger.ready
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind, schema_version, tenant,
            due_at, for_schedule)
    select id, cronledger.now(), line.id, own.priority, 0, max_attempts, p_kind, p_schema_version, tenant,
           coalesce(own.logical_time, run_at), own.schedule_id
      from job where run_at <= cronledger.now()),
  deferred as (
    insert into cronledger.deferred
           (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind, schema_version, tenant,
            due_at, for_schedule)
    select id, run_at, line.id, own.priority, 0, max_attempts, p_kind, p_schema_version, tenant,
           coalesce(own.logical_time, run_at), own.schedule_id
      from job where run_at > cronledger.now())
  select coalesce(array_agg(t.job_id), '{}') into fresh from taken t;
  if cardinality(fresh) > 0 and own.sealed_at is not null then
    raise exception 'the chunks of job % are sealed, so none can be added', p_job_id
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  differs := case when cardinality(fresh) < cardinality(p_names) then
    cronledger.other_work(own.id, p_kind, p_schema_version, p_names, p_payloads) end;
  if differs is not null then
    raise exception 'chunk % of job % was added as other work; give it another name, or the same '
                    'kind and payload in every attempt', differs, p_job_id
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  update cronledger.chunk_set s
     set total = s.total + cardinality(fresh), last_id = (select max(f.id) from unnest(fresh) f(id))
   where s.id = own.id and cardinality(fresh) > 0;
  perform cronledger.count_delta('cronledger_jobs_created_total', array[line.name, p_kind],
                                 cardinality(fresh));
  if cardinality(fresh) > 0 then
    perform cronledger.wake(line.id);
  end if;
  return cardinality(fresh);
end $$;

-- No chunk is added any more; when all are completed, and that may be now, the follow-up is enqueued
-- under the key of the job and `#then`. Sealing twice is sealing once, but the second time must mean
-- the same follow-up (else 55000). False if the lease is someone else's now.
create function cronledger.seal(
  p_job_id bigint, p_token bigint, p_then_kind text default null, p_then_payload jsonb default '{}',
  p_then_queue text default null, p_then_schema_version int default 1) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  own cronledger.chunk_set := cronledger.own_set(p_job_id, p_token);
  line cronledger.queue;
begin
  if own.id is null then
    return false;
  end if;
  if p_then_kind is not null then
    line := cronledger.queue_of(p_then_queue, p_job_id);
    perform cronledger.refuse_large(array[p_then_payload]);
  end if;
  if own.sealed_at is null then
    update cronledger.chunk_set s
       set sealed_at = cronledger.now(), then_kind = p_then_kind,
           then_payload = coalesce(p_then_payload, '{}'), then_queue_id = line.id,
           then_schema_version = p_then_schema_version
     where s.id = own.id;
    perform cronledger.finish_set(own.id);
  elsif (own.then_kind, own.then_payload, own.then_queue_id, own.then_schema_version)
        is distinct from
        (p_then_kind, coalesce(p_then_payload, '{}'), line.id, p_then_schema_version::smallint) then
    raise exception 'the chunks of job % are sealed with another follow-up', p_job_id
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return true;
end $$;

-- What earlier attempts have done, for who has the lease of the job: whether the set is sealed, and the
-- chunk that was added last, if there is one. No row: nothing, or the lease is someone else's.
create function cronledger.split_so_far(p_job_id bigint, p_token bigint)
returns table (sealed boolean, name text, payload jsonb, tenant text, run_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.sealed_at is not null, c.name, j.payload, j.tenant, j.run_at
    from cronledger.chunk_set s
    left join cronledger.chunk c on c.job_id = s.last_id
    left join cronledger.job j on j.id = s.last_id
   where s.id = p_job_id
     and exists (select from cronledger.lease l where l.job_id = p_job_id and l.token = p_token)
$$;

-- The queue of that name, or that of the job.
create function cronledger.queue_of(p_queue text, p_job_id bigint) returns cronledger.queue
language plpgsql stable as $$
declare
  line cronledger.queue;
begin
  if p_queue is null then
    select q.* into strict line
      from cronledger.queue q join cronledger.job j on j.queue_id = q.id where j.id = p_job_id;
  else
    select q.* into line from cronledger.queue q where q.name = p_queue;
    if not found then
      raise exception 'there is no queue %; declare it in the schedule file, or let a job name it',
                      p_queue using errcode = 'no_data_found';
    end if;
  end if;
  return line;
end $$;

-- Sets of chunks. `open`: chunks may be added, or some are not settled. `failed`: all are settled and
-- some are dead, so that a replay opens it again. `cancelled`: none is dead, and some never ran to
-- their end. In both nothing follows.
create view cronledger.chunk_sets as
select s.id, s.key,
       case when s.finished_at is not null then 'completed'
            when s.sealed_at is null or s.completed + s.dead + s.cancelled < s.total then 'open'
            when s.dead > 0 then 'failed'
            else 'cancelled' end as state,
       s.total, s.completed, s.dead, s.cancelled,
       s.total - s.completed - s.dead - s.cancelled as unsettled,
       s.created_at, s.sealed_at, s.finished_at, s.then_kind, s.then_id
  from cronledger.chunk_set s;

-- Each chunk of a set with its job. Chunks whose jobs the retention has let go are in the counts of
-- the set alone.
create view cronledger.chunks as
select c.set_id, c.name, j.*
  from cronledger.chunk c join cronledger.jobs j on j.id = c.job_id;

-- Cancel what waits of a set: its chunks that are scheduled, eligible or retrying. Those that run go
-- on. Returns how many. One audit row stands for all of them, under the key of the set.
create function cronledger.cancel_chunks(p_set_id bigint, p_actor text, p_reason text) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before jsonb := (select to_jsonb(s) from cronledger.chunk_sets s where s.id = p_set_id);
  gone bigint[];
  n int := 0;
begin
  if before is null then
    raise exception 'job % has no chunks', p_set_id using errcode = 'no_data_found';
  end if;
  -- A chunk that becomes due between two looks is found by the next.
  for turn in 1..5 loop
    with ready as (
      delete from cronledger.ready r using cronledger.chunk c
       where c.set_id = p_set_id and r.job_id = c.job_id
      returning r.job_id, r.first_claimed_at, r.queue_id, r.attempt, r.kind),
    deferred as (
      delete from cronledger.deferred d using cronledger.chunk c
       where c.set_id = p_set_id and d.job_id = c.job_id
      returning d.job_id, d.first_claimed_at, d.queue_id, d.attempt, d.kind),
    waiting as (select * from ready union all select * from deferred),
    ended as (
      insert into cronledger.outcome (job_id, first_claimed_at, finished_at, queue_id, attempt, state)
      select w.job_id, w.first_claimed_at, cronledger.now(), w.queue_id, w.attempt, 'cancelled'
        from waiting w),
    counted as (
      insert into cronledger.stat_delta (metric, labels, le, n, total)
      select 'cronledger_jobs_finished_total', array[q.name, w.kind, 'cancelled'], 'Infinity',
             count(*), 0
        from waiting w join cronledger.queue q on q.id = w.queue_id group by q.name, w.kind
      union all
      select 'cronledger_job_attempts', array[q.name, w.kind],
             cronledger.bucket(w.attempt, cronledger.bounds_of_attempts()), count(*),
             sum(w.attempt * 1000000::bigint)
        from waiting w join cronledger.queue q on q.id = w.queue_id group by q.name, w.kind, 3)
    select array_agg(w.job_id) into gone from waiting w;
    exit when gone is null;
    perform cronledger.settle_chunks(gone, 'cancelled');
    n := n + cardinality(gone);
  end loop;
  if n > 0 then
    insert into cronledger.audit (actor, reason, action, subject, detail)
    select p_actor, p_reason, 'cancel_chunks', s.key,
           jsonb_build_object('job_id', p_set_id, 'cancelled', n, 'before', before,
                              'after', to_jsonb(s))
      from cronledger.chunk_sets s where s.id = p_set_id;
  end if;
  return n;
end $$;

-- Forget chunks of sets that began before p_before and whose jobs are all gone, and then their sets;
-- at most p_limit chunks, of one set. Returns how many rows went.
create function cronledger.drop_sets(p_before timestamptz, p_limit int) returns int
language plpgsql as $$
declare
  old bigint;
  n int;
begin
  select s.id into old
    from cronledger.chunk_set s
   where s.id < cronledger.day_of_ids(p_before)
     and not exists (select from cronledger.job j where j.id = s.id)
     and not exists (select from cronledger.chunk c join cronledger.job j on j.id = c.job_id
                      where c.set_id = s.id)
   order by s.id limit 1 for update skip locked;
  if not found then
    return 0;
  end if;
  delete from cronledger.chunk c where c.job_id in (
    select o.job_id from cronledger.chunk o where o.set_id = old limit p_limit);
  get diagnostics n = row_count;
  if not exists (select from cronledger.chunk c where c.set_id = old) then
    delete from cronledger.chunk_set s where s.id = old;
    n := n + 1;
  end if;
  return n;
end $$;

insert into cronledger.role_right (role, routine)
values ('worker', 'split'), ('worker', 'seal'), ('worker', 'split_so_far'), ('operator', 'cancel_chunks');
revoke all on all functions in schema cronledger from public;
