-- Runs beside the tick's: one by hand is a job of its schedule without an occurrence; one of
-- another scheduler is an occurrence without a job.

-- Enqueue one job of a schedule by hand, outside its occurrences; returns the job's id.
create function cronledger.enqueue_by_hand(
  p_schedule_id int, p_key text, p_queue text, p_kind text, p_payload jsonb, p_priority int,
  p_max_attempts int, p_timeout interval, p_schema_version int, p_tenant text,
  p_headers jsonb default null) returns bigint
language plpgsql as $$
declare
  line cronledger.queue;
  made bigint;
begin
  select * into strict line from cronledger.queue q where q.name = p_queue;
  insert into cronledger.job (key, logical_time, run_at, created_at, queue_id, schedule_id, kind,
                              payload, priority, max_attempts, timeout, schema_version, tenant,
                              headers)
  values (p_key, date_trunc('second', cronledger.now()), cronledger.now(), cronledger.now(),
          line.id, p_schedule_id, p_kind, p_payload, p_priority,
          coalesce(p_max_attempts, line.max_attempts), coalesce(p_timeout, line.timeout),
          p_schema_version, p_tenant, p_headers)
  returning id into made;
  insert into cronledger.ready
         (job_id, eligible_at, queue_id, priority, attempt, max_attempts, kind, schema_version, tenant,
          due_at, for_schedule)
  values (made, cronledger.now(), line.id, p_priority, 0,
          coalesce(p_max_attempts, line.max_attempts), p_kind, p_schema_version, p_tenant,
          date_trunc('second', cronledger.now()), p_schedule_id);
  perform cronledger.count_delta('cronledger_jobs_created_total', array[p_queue, p_kind], 1);
  perform cronledger.wake(line.id);
  return made;
end $$;

-- Record that another scheduler ran a schedule of ours that it manages, once for each time; returns
-- how many were new. Times that are pruned are not. For schedules with `managed_by`, which are compared and never enqueued.
create function cronledger.record_external(p_schedule text, p_logical_times timestamptz[])
returns int language plpgsql as $$
declare
  line cronledger.schedule;
  n int;
begin
  select * into line from cronledger.schedule s where s.name = p_schedule;
  if not found then
    raise exception 'there is no schedule % in the ledger; load its file first', p_schedule
      using errcode = 'no_data_found';
  end if;
  perform cronledger.wait_for_pruning(p_logical_times);
  with fresh as (
    insert into cronledger.occurrence
           (schedule_id, logical_time, version, utc_offset, fold, moved, collapsed, via,
            recorded_at)
    select line.id, t.at, v.number,
           extract(epoch from (t.at at time zone (v.spec ->> 'timezone'))
                            - (t.at at time zone 'UTC'))::int,
           false, false, 1, 'external', cronledger.now()
      from (select distinct date_trunc('second', u.at) as at from unnest(p_logical_times) u(at)) t
      join cronledger.schedule_version v
        on v.schedule_id = line.id and v.effective_from <= t.at
       and (v.effective_to is null or t.at < v.effective_to)
     where not exists (select from cronledger.schedule s
                        where s.id = line.id and t.at < s.pruned_to)
     order by t.at
    on conflict do nothing
    returning logical_time),
  newest as (
    insert into cronledger.newest_delta (schedule_id, logical_time)
    select line.id, max(f.logical_time) from fresh f having count(*) > 0)
  select count(*) into n from fresh;
  perform cronledger.count_delta('cronledger_occurrences_recorded_total',
                                 array['default', 'external'], n);
  return n;
end $$;
