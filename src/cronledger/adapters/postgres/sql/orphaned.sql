-- Recorded occurrences of the windows whose job is nowhere any more, and was not let go by the
-- retention.
select o.schedule_id, extract(epoch from o.logical_time)::bigint as epoch
  from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
       as u(id, start_time, end_time)
  join cronledger.occurrence o
    on o.schedule_id = u.id and o.logical_time >= u.start_time and o.logical_time < u.end_time
 where o.via <> 'external' and o.final_state is null
   and (not exists (select from cronledger.job x where x.id = o.job_id)
     or (    not exists (select from cronledger.outcome x where x.job_id = o.job_id)
        and not exists (select from cronledger.lease x where x.job_id = o.job_id)
        and not exists (select from cronledger.ready x where x.job_id = o.job_id)
        and not exists (select from cronledger.deferred x where x.job_id = o.job_id)))
 order by o.schedule_id, o.logical_time
