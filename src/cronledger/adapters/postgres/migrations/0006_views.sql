-- The stable surface for people and tools; tables may change behind it.

create view cronledger.jobs as
select j.id, j.key, q.name as queue, j.kind, j.schema_version, j.tenant,
       case when o.job_id is not null then o.state
            when l.job_id is not null then 'leased'
            when r.job_id is not null or d.eligible_at <= cronledger.now() then 'eligible'
            when d.attempt = 0 then 'scheduled'
            when d.attempt > 0 then 'retrying' end as state,
       coalesce(o.attempt, l.attempt, r.attempt, d.attempt) as attempt,
       j.max_attempts, j.run_at,
       coalesce(l.eligible_at, r.eligible_at, d.eligible_at) as eligible_at,
       j.created_at,
       coalesce(o.first_claimed_at, l.first_claimed_at, r.first_claimed_at, d.first_claimed_at)
         as claimed_at,
       o.finished_at,
       coalesce(o.worker, l.worker) as worker,
       coalesce(o.error_class, d.error_class) as error_class,
       coalesce(x.error, d.error) as error,
       l.expires_at as lease_expires_at, l.cancel_requested_at, x.discarded_at
  from cronledger.job j
  join cronledger.queue q on q.id = j.queue_id
  left join cronledger.outcome o on o.job_id = j.id
  left join cronledger.lease l on l.job_id = j.id
  left join cronledger.ready r on r.job_id = j.id
  left join cronledger.deferred d on d.job_id = j.id
  left join cronledger.dead x on x.job_id = j.id;

create view cronledger.occurrences as
select s.name || ':' || to_char(o.logical_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
         as key,
       s.name as schedule, o.logical_time, o.recorded_at, o.enqueued_at,
       coalesce(o.claimed_at, j.claimed_at) as claimed_at,
       case when o.final_state = 'completed' then o.finished_at
            when j.state = 'completed' then j.finished_at end as committed_at,
       o.job_id, coalesce(o.final_state, j.state) as state, o.via,
       (o.logical_time at time zone 'UTC') + make_interval(secs => o.utc_offset) as local_time,
       o.fold, o.moved, o.collapsed, o.version, v.tzdata, o.as_of
  from cronledger.occurrence o
  join cronledger.schedule s on s.id = o.schedule_id
  left join cronledger.schedule_version v on v.schedule_id = o.schedule_id and v.number = o.version
  left join cronledger.jobs j on j.id = o.job_id;
