-- Per schedule: the latest recorded logical time (one index probe), the oldest unfinished one, and when
-- an occurrence last completed.
with unfinished as (
  select j.schedule_id, min(j.logical_time) as oldest
    from (select job_id from cronledger.ready
           union all select job_id from cronledger.deferred
           union all select job_id from cronledger.lease) a
    join cronledger.job j on j.id = a.job_id
   where j.logical_time <= %(now)s group by j.schedule_id),
succeeded as (
  select schedule_id, max(at) as at
    from (select schedule_id, at from cronledger.success
           union all select schedule_id, at from cronledger.success_delta) u
   group by schedule_id)
select s.name, unfinished.oldest as oldest_unfinished, succeeded.at as last_success,
       (select o.logical_time from cronledger.occurrence o where o.schedule_id = s.id
         order by o.logical_time desc limit 1) as last_recorded
  from cronledger.schedule s
  left join unfinished on unfinished.schedule_id = s.id
  left join succeeded on succeeded.schedule_id = s.id
 order by s.name
