-- Leases: what a worker holds. Every change of a job's state is one of these functions and those of
-- the next file, for workers in any language. A settlement names its lease by token; no row means
-- that the lease is someone else's now.

-- Move due deferred jobs to ready. Every claimer does it, so no leader is needed.
create function cronledger.promote(p_queue_id int, p_limit int) returns void
language sql
-- In the order of the index, row by row: to the planner a limit that it does not know is a tenth of
-- the table, which it would rather read whole and sort, at a cost that grows with the backlog.
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off as $$
  with due as (
    delete from cronledger.deferred where job_id = any (array(
      select d.job_id from cronledger.deferred d
       where d.queue_id = p_queue_id and d.eligible_at <= cronledger.now()
       order by d.eligible_at limit p_limit for update skip locked))
    returning *)
  insert into cronledger.ready
         (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, releases,
          kind, ordering_key)
  select job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, releases,
         kind, ordering_key
    from due
$$;

-- Lease up to p_limit jobs of the queues named, in the order named (of every queue, by name, where
-- none is); none of a paused queue, none of a kind not named. The inner array keeps a generic plan
-- on the index.
create function cronledger.claim(p_queues text[], p_kinds text[], p_limit int, p_worker text)
returns table (job_id bigint, token bigint, key text, kind text, queue text, payload jsonb,
               logical_time timestamptz, attempt smallint, max_attempts smallint,
               eligible_at timestamptz, claimed_at timestamptz, expires_at timestamptz,
               lease interval, timeout interval)
language plpgsql
-- As promote(): no sort of all that waits.
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  wanted cronledger.queue;
  room int := p_limit;
  got int;
begin
  for wanted in
    select q.* from cronledger.queue q
      left join unnest(p_queues) with ordinality as u(name, place) on u.name = q.name
     where (q.paused_at is null or q.paused_until <= cronledger.now())
       and (u.name is not null or cardinality(p_queues) = 0)
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
           -- Of an ordering key only the oldest job, and none while one is leased or retries.
           and (c.ordering_key is null or not (
                exists (select from cronledger.lease l where l.ordering_key = c.ordering_key)
             or exists (select from cronledger.ready e
                         where e.ordering_key = c.ordering_key and e.job_id < c.job_id)
             or exists (select from cronledger.deferred d
                         where d.ordering_key = c.ordering_key and d.job_id < c.job_id
                           and d.attempt > 0)))
         order by c.priority, c.eligible_at, c.job_id
         limit room for update skip locked))
      returning r.*),
    leased as (
      insert into cronledger.lease as l
             (job_id, token, eligible_at, claimed_at, first_claimed_at, expires_at, queue_id,
              priority, attempt, max_attempts, releases, kind, ordering_key, worker)
      select t.job_id, nextval('cronledger.lease_token'), t.eligible_at, cronledger.now(),
             coalesce(t.first_claimed_at, cronledger.now()), cronledger.now() + wanted.lease,
             t.queue_id, t.priority, t.attempt + 1, t.max_attempts, t.releases, t.kind,
             t.ordering_key, p_worker
        from taken t
      -- Two claims at once may each see the oldest of a key; the index lets one of them have it.
      on conflict (ordering_key) where ordering_key is not null do nothing
      returning l.*),
    given_back as (
      insert into cronledger.ready
      select t.* from taken t where not exists (select from leased l where l.job_id = t.job_id))
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
-- cancel_requested: somebody wants the attempt to end; failing it then ends the job.
create function cronledger.extend(p_job_ids bigint[], p_tokens bigint[])
returns table (job_id bigint, expires_at timestamptz, cancel_requested boolean)
language sql as $$
  update cronledger.lease l
     set expires_at = greatest(l.expires_at, cronledger.now() + q.lease)
    from cronledger.queue q
   where l.job_id = any (p_job_ids) and l.token = any (p_tokens) and q.id = l.queue_id
  returning l.job_id, l.expires_at, l.cancel_requested_at is not null
$$;
