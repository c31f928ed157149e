-- What the days that touch each window keep of occurrences that were dropped.
select h.schedule_id, h.day, h.state, h.count
  from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
       as u(id, start_time, end_time)
  join cronledger.history h
    on h.schedule_id = u.id and h.day >= (u.start_time at time zone 'UTC')::date
   and h.day < u.end_time at time zone 'UTC'
 order by h.schedule_id, h.day, h.state
