-- Which of these schedules have a job that is not finished. Reads only what is active.
select distinct j.schedule_id
  from (select job_id from cronledger.ready
         union all select job_id from cronledger.deferred
         union all select job_id from cronledger.lease) a
  join cronledger.job j on j.id = a.job_id
 where j.schedule_id = any (%(ids)s::int[])
