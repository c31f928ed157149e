-- Recorded logical times in each window, as epochs in order: one row per schedule, off the index.
select u.id, array(select extract(epoch from o.logical_time)::bigint
                     from cronledger.occurrence o
                    where o.schedule_id = u.id
                      and o.logical_time >= u.start_time and o.logical_time < u.end_time
                    order by o.logical_time) as epochs
  from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
       as u(id, start_time, end_time)
