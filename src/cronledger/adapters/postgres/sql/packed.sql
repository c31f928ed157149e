-- Recorded logical times of each window in order, off the index: one array for each window, in the
-- order of the windows. It is the order in which unnest() yields; to ask for it would be to sort, and
-- then no array is sent before the last one is made.
select array(select o.logical_time
               from cronledger.occurrence o
              where o.schedule_id = u.id
                and o.logical_time >= u.start_time and o.logical_time < u.end_time
              order by o.logical_time) as logical_times
  from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
       as u(id, start_time, end_time)
