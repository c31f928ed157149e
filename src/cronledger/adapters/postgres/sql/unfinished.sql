-- Of these schedules: how many runs wait and how many are under way. A run that has split into chunks
-- is one, and under way as long as one of its jobs is leased. Reads only what is active.
select u.schedule_id, count(*) filter (where not u.leased) as waiting,
       count(*) filter (where u.leased) as leased
  from (select a.for_schedule as schedule_id, bool_or(a.leased) as leased
          from (select job_id, for_schedule, false as leased from cronledger.ready
                 union all select job_id, for_schedule, false from cronledger.deferred
                 union all select job_id, for_schedule, true from cronledger.lease) a
          left join cronledger.chunk c on c.job_id = a.job_id
         where a.for_schedule = any (%(ids)s::int[])
         group by a.for_schedule, coalesce(c.set_id, a.job_id)) u
 group by u.schedule_id
