-- Leases: what a worker holds. Every change of a job's state is one of these functions and those of
-- the next file, for workers in any language. A settlement names its lease by token; no row means
-- that the lease is someone else's now.

-- Move due deferred jobs to ready. Every claimer does it, so no leader is needed.
--
-- As the functions below, in PL/pgSQL, which keeps its plans (SQL functions do so from PostgreSQL 18
-- on; one for all arguments, since planning anew for each call costs more than the call), in the order of
-- an index, row by row: to the planner a limit that it does not know is a tenth of the table, which it
-- would rather read whole and sort, at a cost that grows with the backlog. And never compiled: switched
-- off, a method has a price at which compiling looks cheap, and takes longer than everything else.
create function cronledger.promote(p_queue_id int, p_limit int) returns void
language plpgsql set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
  with due as (
    delete from cronledger.deferred where job_id = any (array(
      select d.job_id from cronledger.deferred d
       where d.queue_id = p_queue_id and d.eligible_at <= cronledger.now()
       order by d.eligible_at limit p_limit for update skip locked))
    returning *)
  insert into cronledger.ready
         (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, releases,
          expiries, kind, schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at,
          for_schedule)
  select job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, releases,
         expiries, kind, schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at,
         for_schedule
    from due
  -- A row that is ready already is the same job, put there by some hand: one of the two is enough, and
  -- it must not keep the others from being promoted.
  on conflict do nothing;
end $$;

-- Whether a worker that says that it knows p_kinds can run a job: `kind` stands for version 1 of its
-- payload, `kind@2` for the second.
create function cronledger.knows(p_kinds text[], p_kind text, p_schema_version smallint)
returns boolean language sql immutable parallel safe as $$
  select case when p_schema_version = 1 then p_kind else p_kind || '@' || p_schema_version end
         = any (p_kinds)
$$;

-- Of an ordering key only the oldest job may run, and none while one is leased or retries.
create function cronledger.in_order(p_job_id bigint, p_ordering_key text) returns boolean
language sql stable as $$
  select not (
       exists (select from cronledger.lease l where l.ordering_key = p_ordering_key)
    or exists (select from cronledger.ready e
                where e.ordering_key = p_ordering_key and e.job_id < p_job_id)
    or exists (select from cronledger.deferred d
                where d.ordering_key = p_ordering_key and d.job_id < p_job_id and d.attempt > 0))
$$;

-- The jobs of a queue that a claim takes: where they lie, at most p_limit, locked, the first in rank
-- first. p_floor: no rank below it is looked at, for a claimer that knows that there was none; so it
-- need not step over all that was taken since, which a long transaction elsewhere keeps in the index.
create function cronledger.pick(p_queue_id int, p_kinds text[], p_limit int, p_floor timestamp)
returns tid[] language plpgsql set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
  return array(
    select c.ctid from cronledger.ready c
     where c.queue_id = p_queue_id and c.tenant is null and c.expiries < 2
       and cronledger.rank(c.eligible_at, c.priority) >= p_floor
       and c.eligible_at <= cronledger.now()
       and cronledger.knows(p_kinds, c.kind, c.schema_version)
       and (c.ordering_key is null or cronledger.in_order(c.job_id, c.ordering_key))
     order by cronledger.rank(c.eligible_at, c.priority), c.job_id
     limit p_limit for update skip locked);
end $$;

-- The same of one tenant.
create function cronledger.pick_of(p_queue_id int, p_tenant text, p_kinds text[], p_limit int)
returns tid[] language plpgsql set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
  return array(
    select c.ctid from cronledger.ready c
     where c.queue_id = p_queue_id and hashtext(c.tenant) = hashtext(p_tenant)
       and c.tenant = p_tenant and c.expiries < 2
       and c.eligible_at <= cronledger.now()
       and cronledger.knows(p_kinds, c.kind, c.schema_version)
       and (c.ordering_key is null or cronledger.in_order(c.job_id, c.ordering_key))
     order by cronledger.rank(c.eligible_at, c.priority), c.job_id
     limit p_limit for update skip locked);
end $$;

-- The tenants that have something ready, beginning at a random one, at most p_limit of them. Steps
-- from tenant to tenant and reads one job of each.
create function cronledger.tenants_ready(p_queue_id int, p_limit int) returns text[]
language plpgsql set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
declare
  start constant int := (random() * 4294967295 - 2147483648)::bigint::int;
  at_hash int := start;
  at_tenant text := '';
  around boolean := false;
  found_tenants text[] := '{}';
begin
  while cardinality(found_tenants) < p_limit loop
    select hashtext(r.tenant), r.tenant into at_hash, at_tenant
      from cronledger.ready r
     where r.queue_id = p_queue_id and r.tenant is not null and r.expiries < 2
       and (hashtext(r.tenant), r.tenant) > (at_hash, at_tenant)
     order by hashtext(r.tenant), r.tenant limit 1;
    if found and not (around and at_hash >= start) then
      found_tenants := found_tenants || at_tenant;
    elsif around then
      exit;
    else
      around := true;
      at_hash := -2147483648;
      at_tenant := '';
    end if;
  end loop;
  return found_tenants;
end $$;

-- Tenants take turns: each gives the same share of a claim, as far as it has so much, and the jobs of
-- no tenant are one more. What is left over goes to whoever has more. The limit of a queue on what one
-- tenant may have leased is exact while the row of the queue is locked.
create function cronledger.pick_in_turns(p_queue cronledger.queue, p_kinds text[], p_limit int)
returns tid[] language plpgsql as $$
declare
  tenants text[] := cronledger.tenants_ready(p_queue.id, p_limit) || null::text;
  share int := ceil(p_limit::numeric / cardinality(tenants));
  room int := p_limit;
  taken int[] := array_fill(0, array[cardinality(tenants)]);
  most int;
  found tid[];
  got tid[] := '{}';
begin
  -- The second time around there are no shares; what is locked by us already is found again.
  for turn in 1..2 loop
    exit when room = 0;
    for place in 1..cardinality(tenants) loop
      most := taken[place] + case turn when 1 then least(share, room) else room end;
      if p_queue.tenant_limit is not null and tenants[place] is not null then
        most := least(most, p_queue.tenant_limit
          - (select count(*)::int from cronledger.lease l
              where l.queue_id = p_queue.id and l.tenant = tenants[place]));
      end if;
      continue when most <= taken[place];
      found := case when tenants[place] is null
                    then cronledger.pick(p_queue.id, p_kinds, most, '-infinity')
                    else cronledger.pick_of(p_queue.id, tenants[place], p_kinds, most) end;
      got := got || found;
      room := room + taken[place] - cardinality(found);
      taken[place] := cardinality(found);
    end loop;
  end loop;
  return got;
end $$;

-- A job whose lease ended twice with nobody saying why: it may have killed its worker. A claimer that
-- runs nothing else takes it at once, any other after it has waited for a minute; either runs it alone.
create function cronledger.pick_suspect(p_queue_id int, p_kinds text[], p_alone boolean)
returns tid[] language plpgsql set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
  return array(
    select c.ctid from cronledger.ready c
     where c.queue_id = p_queue_id and c.expiries >= 2
       and c.eligible_at <= cronledger.now()
                            - case when p_alone then interval '0' else interval '1 minute' end
       and cronledger.knows(p_kinds, c.kind, c.schema_version)
       and (c.ordering_key is null or cronledger.in_order(c.job_id, c.ordering_key))
     order by c.eligible_at limit 1 for update skip locked);
end $$;

-- What a claimer gets. `alone`: run nothing beside it.
create type cronledger.claimed as (
  job_id bigint, token bigint, key text, kind text, schema_version smallint, queue text, tenant text,
  payload jsonb, headers jsonb, logical_time timestamptz, attempt smallint, max_attempts smallint,
  eligible_at timestamptz, claimed_at timestamptz, expires_at timestamptz, lease interval,
  timeout interval, alone boolean, rank timestamp);

-- Lease up to p_limit jobs of the queues named, in the order named (of every queue, by name, where
-- none is); none of a paused queue, none of a kind or version not named, and a suspect only by itself
-- (`alone`: run nothing beside it). p_alone: the claimer runs nothing now. p_floor: see pick().
create function cronledger.claim(p_queues text[], p_kinds text[], p_limit int, p_worker text,
                                 p_alone boolean default false,
                                 p_floor timestamp default null)
returns setof cronledger.claimed language plpgsql
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted cronledger.queue;
  room int := p_limit;
  picked tid[];
  suspect boolean;
  got int;
begin
  perform from cronledger.queue q                  -- in one order, so that nobody waits in a ring
    where q.tenant_limit is not null and (q.name = any (p_queues) or cardinality(p_queues) = 0)
    order by q.id for no key update;
  for wanted in
    select q.* from cronledger.queue q
      left join unnest(p_queues) with ordinality as u(name, place) on u.name = q.name
     where (q.paused_at is null or q.paused_until <= cronledger.now())
       and (u.name is not null or cardinality(p_queues) = 0)
     order by u.place, q.name
  loop
    exit when room <= 0;
    perform cronledger.promote(wanted.id, 1000);
    suspect := false;
    picked := '{}';
    if room = p_limit then
      picked := cronledger.pick_suspect(wanted.id, p_kinds, p_alone);
      suspect := cardinality(picked) > 0;
    end if;
    if suspect then
      room := 1;
    elsif exists (select from cronledger.ready r
                   where r.queue_id = wanted.id and r.tenant is not null and r.expiries < 2) then
      picked := cronledger.pick_in_turns(wanted, p_kinds, room);
    else
      picked := cronledger.pick(wanted.id, p_kinds, room, coalesce(p_floor, '-infinity'));
      if cardinality(picked) < room and p_floor is not null then
        picked := cronledger.pick(wanted.id, p_kinds, room, '-infinity');
      end if;
    end if;
    continue when cardinality(picked) = 0;
    return query
    with leased as (
      insert into cronledger.lease as l
             (job_id, token, eligible_at, claimed_at, first_claimed_at, expires_at, queue_id,
              priority, attempt, max_attempts, releases, expiries, kind, schema_version,
              ordering_key, tenant, schedule_id, deliver_by, due_at, for_schedule, worker)
      select r.job_id, nextval('cronledger.lease_token'), r.eligible_at, cronledger.now(),
             coalesce(r.first_claimed_at, cronledger.now()), cronledger.now() + wanted.lease,
             r.queue_id, r.priority, r.attempt + 1, r.max_attempts, r.releases, r.expiries, r.kind,
             r.schema_version, r.ordering_key, r.tenant, r.schedule_id, r.deliver_by, r.due_at,
             r.for_schedule, p_worker
        from cronledger.ready r where r.ctid = any (picked) order by r.ordering_key
      -- Two claims at once may each see the oldest of an ordering key; the index lets one have it.
      on conflict do nothing
      returning l.*),
    observed as (
      insert into cronledger.stat_delta (metric, labels, le, n, total)
      select 'cronledger_job_wait_seconds', array[wanted.name, w.kind], w.le, count(*),
             sum((w.waited * 1e6)::bigint)
        from (select l.kind, t.waited, cronledger.bucket(t.waited, cronledger.bounds_of_spans()) as le
                from leased l
               cross join lateral (select cronledger.seconds(l.eligible_at, l.claimed_at)) t(waited)) w
       group by w.kind, w.le)
    select l.job_id, l.token, j.key, l.kind, l.schema_version, wanted.name, l.tenant, j.payload,
           j.headers, j.logical_time, l.attempt, l.max_attempts, l.eligible_at, l.claimed_at,
           l.expires_at, wanted.lease, j.timeout, suspect,
           cronledger.rank(l.eligible_at, l.priority)
      from leased l join cronledger.job j on j.id = l.job_id
     order by cronledger.rank(l.eligible_at, l.priority), l.job_id;
    get diagnostics got = row_count;
    if got = cardinality(picked) then
      delete from cronledger.ready r where r.ctid = any (picked);
    else
      delete from cronledger.ready r
       where r.ctid = any (picked)
         and exists (select from cronledger.lease l where l.job_id = r.job_id);
    end if;
    room := room - got;
  end loop;
end $$;

-- For the only claimer of a queue, which wants to know if it is not: as claim(), but where another
-- session has one of the jobs in its hands, an error at once (55P03) instead of the next job.
create function cronledger.claim_nowait(p_queue text, p_kinds text[], p_limit int, p_worker text)
returns setof cronledger.claimed language plpgsql as $$
begin
  perform from cronledger.ready r join cronledger.queue q on q.id = r.queue_id
    where q.name = p_queue and cronledger.knows(p_kinds, r.kind, r.schema_version)
    order by cronledger.rank(r.eligible_at, r.priority), r.job_id
    limit p_limit for update of r nowait;
  return query select * from cronledger.claim(array[p_queue], p_kinds, p_limit, p_worker, true);
end $$;

-- Extend the leases that are still ours. A job missing from the answer has lost its lease.
-- An extension never shortens a lease, also when the database's clock was set back.
-- cancel_requested: somebody wants the attempt to end; failing it then ends the job.
create function cronledger.extend(p_job_ids bigint[], p_tokens bigint[])
returns table (job_id bigint, expires_at timestamptz, cancel_requested boolean)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  kept bigint[];
begin
  with extended as (
    update cronledger.lease l
       set expires_at = greatest(l.expires_at, cronledger.now() + q.lease)
      from cronledger.queue q
     where l.job_id = any (p_job_ids) and l.token = any (p_tokens) and q.id = l.queue_id
    returning l.job_id)
  select coalesce(array_agg(e.job_id), '{}') into kept from extended e;
  insert into cronledger.stat_delta (metric, labels, n)
  select 'cronledger_lease_extensions_total',
         array[q.name, case when j.id = any (kept) then 'ok' else 'lost' end], count(*)
    from cronledger.job j join cronledger.queue q on q.id = j.queue_id
   where j.id = any (p_job_ids) group by q.name, j.id = any (kept);
  return query
  select l.job_id, l.expires_at, l.cancel_requested_at is not null
    from cronledger.lease l where l.job_id = any (kept);
end $$;
