-- Enqueue: occurrences and their jobs come into being here, once each.

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
  p_via text, p_as_of timestamptz,
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
