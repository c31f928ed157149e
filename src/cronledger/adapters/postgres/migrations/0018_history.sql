-- History: how far back occurrences are kept one by one, and what is kept of them afterwards.

-- How long an occurrence is kept; null is for ever.
alter table cronledger.ledger
  add keep_occurrences interval check (keep_occurrences >= keep_receipts);

-- Occurrences before this instant may have been dropped, so one that is not there need not be
-- missing, and none is recorded there any more. Null: none has been dropped.
alter table cronledger.schedule add pruned_to timestamptz;

-- What is left of occurrences that were dropped: how many of a UTC day came to which end.
create table cronledger.history (
  schedule_id int not null references cronledger.schedule,
  day         date not null,
  state       text not null check (state in ('completed', 'cancelled', 'dead', 'external')),
  count       int not null check (count >= 1),
  primary key (schedule_id, day, state)
);

-- What nobody has noted the end of: the few among millions that can have lost their jobs.
create index occurrence_open on cronledger.occurrence (schedule_id, logical_time)
  where final_state is null;

-- Wait until nothing is pruned, if any of these times is old enough to be. A key that is being dropped
-- would look like one that was never there.
create function cronledger.wait_for_pruning(p_times timestamptz[]) returns void
language plpgsql as $$
begin
  if exists (select from cronledger.ledger l, unnest(p_times) as t(at)
              where t.at < cronledger.now() - l.keep_occurrences) then
    perform pg_advisory_xact_lock_shared(hashtext('cronledger.retention'));
  end if;
end $$;

-- Drop occurrences before p_before (the start of a UTC day) that have ended, the oldest of each
-- schedule first, at most p_limit; and count them by day and end in the same transaction. What is not
-- finished stays, and of each schedule the newest, which says when it last ran. Returns how many went.
create function cronledger.drop_occurrences(p_before timestamptz, p_limit int) returns int
language plpgsql as $$
declare
  ids int[];
  times timestamptz[];
begin
  perform pg_advisory_xact_lock(hashtext('cronledger.retention'));
  select array_agg(x.schedule_id), array_agg(x.logical_time) into ids, times
    from (select o.schedule_id, o.logical_time
            from cronledger.schedule s
           cross join lateral (
             select x.schedule_id, x.logical_time from cronledger.occurrence x
              where x.schedule_id = s.id and x.logical_time < p_before
                and (x.final_state is not null or x.via = 'external')
                and x.logical_time < (select max(n.logical_time) from cronledger.occurrence n
                                       where n.schedule_id = s.id)
              order by x.logical_time limit p_limit) o
           limit p_limit) x;
  if ids is null then
    return 0;
  end if;
  -- In the order in which a tick locks them.
  perform from cronledger.schedule s where s.id = any (ids) order by s.id for update;
  update cronledger.schedule s
     set pruned_to = greatest(s.pruned_to, x.up_to)
    from (select u.id, max(u.at) + interval '1 second' as up_to
            from unnest(ids, times) as u(id, at) group by u.id) x
   where s.id = x.id;
  with gone as (
    delete from cronledger.occurrence o
     using unnest(ids, times) as u(id, at)
     where o.schedule_id = u.id and o.logical_time = u.at
    returning o.schedule_id, (o.logical_time at time zone 'UTC')::date as day,
              coalesce(o.final_state, 'external') as state)
  insert into cronledger.history as h (schedule_id, day, state, count)
  select g.schedule_id, g.day, g.state, count(*) from gone g group by 1, 2, 3
  on conflict (schedule_id, day, state) do update set count = h.count + excluded.count;
  return cardinality(ids);
end $$;

revoke all on all functions in schema cronledger from public;
