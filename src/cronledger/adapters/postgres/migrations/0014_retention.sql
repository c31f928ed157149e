-- Retention: what has ended is dropped a day at a time, and what outlives it.

-- Tables of one UTC day of jobs and their outcomes, for today and p_ahead days after it; returns how
-- many were made. Jobs of a day without them lie in the default partitions, and so does the rest of
-- such a day.
create function cronledger.make_days(p_ahead int) returns int
language plpgsql as $$
declare
  first bigint;
  made int := 0;
begin
  perform pg_advisory_xact_lock(hashtext('cronledger.retention'));
  for offset_days in 0..p_ahead loop
    first := cronledger.day_of_ids(cronledger.now() + make_interval(days => offset_days));
    continue when to_regclass('cronledger.job_' || first / 10000000000) is not null
      or exists (select from cronledger.job_default j where j.id >= first and j.id < first + 10000000000)
      or exists (select from cronledger.outcome_default o
                  where o.job_id >= first and o.job_id < first + 10000000000);
    execute format('create table cronledger.%I partition of cronledger.job for values from (%s) to (%s)',
                   'job_' || first / 10000000000, first, first + 10000000000);
    execute format('create table if not exists cronledger.%I partition of cronledger.outcome for values from (%s) to (%s)',
                   'outcome_' || first / 10000000000, first, first + 10000000000);
    made := made + 1;
  end loop;
  return made;
end $$;

-- The first id of each day that has tables of its own, from the oldest.
create function cronledger.days() returns setof bigint
language sql stable as $$
  select substr(c.relname, 5)::bigint * 10000000000
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'cronledger.job'::regclass and c.relname ~ '^job_[0-9]{6}$'
   order by 1
$$;

-- Keep on the occurrences of these jobs how they ended, before these are dropped. What is not
-- finished, and dead letters that nobody put away, are kept whole, so there is nothing to note of them.
create function cronledger.note_jobs(p_job_ids bigint[]) returns void
language sql as $$
  update cronledger.occurrence o
     set final_state = x.state, finished_at = x.finished_at, claimed_at = x.first_claimed_at
    from cronledger.outcome x
    join cronledger.job j on j.id = x.job_id
   where x.job_id = any (p_job_ids) and j.id = any (p_job_ids)
     and o.schedule_id = j.schedule_id and o.logical_time = j.logical_time
     and o.job_id = j.id and o.final_state is null
     and not exists (select from cronledger.dead d
                      where d.job_id = j.id and d.discarded_at is null)
$$;

-- note_jobs() for the next p_limit finished jobs with p_after < id < p_end. Returns the last of them,
-- where the next call goes on; null if there was none.
create function cronledger.note_final(p_after bigint, p_end bigint, p_limit int) returns bigint
language plpgsql as $$
declare
  ids bigint[];
begin
  select array_agg(x.job_id order by x.job_id) into ids
    from (select o.job_id from cronledger.outcome o
           where o.job_id > p_after and o.job_id < p_end order by o.job_id limit p_limit) x;
  perform cronledger.note_jobs(ids);
  return ids[cardinality(ids)];
end $$;

-- Drop the jobs of a day, except those that somebody still waits for: these go to the default
-- partitions. Refused (55000) while an occurrence does not know yet how its job ended. Everybody waits
-- while it waits for its locks, so it does not wait for long: then it is an error (55P03), to be tried
-- again. False if another process has dropped the day.
create function cronledger.drop_day(p_first bigint) returns boolean
language plpgsql set lock_timeout = '200ms' as $$
declare
  day constant text := (p_first / 10000000000)::text;
  last constant bigint := p_first + 10000000000;
begin
  perform pg_advisory_xact_lock(hashtext('cronledger.retention'));
  if to_regclass('cronledger.job_' || day) is null then
    return false;
  end if;
  if exists (select from cronledger.job j
              join cronledger.outcome x on x.job_id = j.id
              join cronledger.occurrence o
                on o.schedule_id = j.schedule_id and o.logical_time = j.logical_time
               and o.job_id = j.id and o.final_state is null
             where j.id >= p_first and j.id < last and x.job_id >= p_first and x.job_id < last
               and not exists (select from cronledger.dead d
                                where d.job_id = j.id and d.discarded_at is null)) then
    raise exception 'occurrences of day % do not know yet how their jobs ended', day
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  delete from cronledger.dead d
   where d.job_id >= p_first and d.job_id < last and d.discarded_at is not null;
  delete from cronledger.output o where o.job_id >= p_first and o.job_id < last;
  execute format('alter table cronledger.job detach partition cronledger.%I', 'job_' || day);
  execute format('alter table cronledger.outcome detach partition cronledger.%I', 'outcome_' || day);
  execute format(
    'insert into cronledger.outcome select o.* from cronledger.%I o
      where exists (select from cronledger.dead d where d.job_id = o.job_id)', 'outcome_' || day);
  execute format(
    'insert into cronledger.job select j.* from cronledger.%I j
      where not exists (select from cronledger.%I o where o.job_id = j.id)
         or exists (select from cronledger.dead d where d.job_id = j.id)',
    'job_' || day, 'outcome_' || day);
  execute format('drop table cronledger.%I, cronledger.%I', 'job_' || day, 'outcome_' || day);
  return true;
end $$;

-- Delete finished jobs with ids below p_end from the default partitions; at most p_limit.
create function cronledger.drop_strays(p_end bigint, p_limit int) returns int
language plpgsql as $$
declare
  gone bigint[];
begin
  select array_agg(o.job_id) into gone
    from (select x.job_id from cronledger.outcome_default x
           where x.job_id < p_end
             and not exists (select from cronledger.dead d
                              where d.job_id = x.job_id and d.discarded_at is null)
           order by x.job_id limit p_limit) o;
  perform cronledger.note_jobs(gone);
  delete from cronledger.dead d where d.job_id = any (gone);
  delete from cronledger.output o where o.job_id = any (gone);
  delete from cronledger.job j where j.id = any (gone);
  delete from cronledger.outcome o where o.job_id = any (gone);
  return coalesce(cardinality(gone), 0);
end $$;

-- Forget keys of jobs that no schedule owes, whose jobs are gone; at most p_limit.
create function cronledger.drop_keys(p_before timestamptz, p_limit int) returns int
language sql as $$
  with gone as (
    delete from cronledger.job_key k where (k.queue_id, k.key) in (
      select o.queue_id, o.key from cronledger.job_key o
       where o.created_at < p_before
         and not exists (select from cronledger.job j where j.id = o.job_id)
       limit p_limit)
    returning 1)
  select count(*)::int from gone
$$;
create index job_key_age on cronledger.job_key using brin (created_at);

select cronledger.make_days(3);
