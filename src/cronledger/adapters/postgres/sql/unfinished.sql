-- Of these schedules: how many jobs wait and how many are leased. Reads only what is active.
select j.schedule_id, count(*) filter (where not a.leased) as waiting,
       count(*) filter (where a.leased) as leased
  from (select job_id, false as leased from cronledger.ready
         union all select job_id, false from cronledger.deferred
         union all select job_id, true from cronledger.lease) a
  join cronledger.job j on j.id = a.job_id
 where j.schedule_id = any (%(ids)s::int[])
 group by j.schedule_id
