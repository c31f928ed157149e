-- How far each recorded occurrence of the windows came.
select o.schedule_id, extract(epoch from o.logical_time)::bigint as epoch,
       o.recorded_at, o.enqueued_at, coalesce(o.claimed_at, j.claimed_at) as claimed_at,
       case when o.final_state = 'completed' then o.finished_at
            when j.state = 'completed' then j.finished_at end as committed_at,
       o.job_id, coalesce(o.final_state, j.state) as state, o.via
  from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
       as u(id, start_time, end_time)
  join cronledger.occurrence o
    on o.schedule_id = u.id and o.logical_time >= u.start_time and o.logical_time < u.end_time
  -- How it ended is on the occurrence once its job may be gone.
  left join cronledger.jobs j on j.id = o.job_id and o.final_state is null
 order by o.schedule_id, o.logical_time
