-- Ranges left out that touch each window.
select l.schedule_id, extract(epoch from l.from_time)::bigint as start_epoch,
       extract(epoch from l.to_time)::bigint as end_epoch, l.reason, l.count
  from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
       as u(id, start_time, end_time)
  join cronledger.left_out l
    on l.schedule_id = u.id and l.from_time < u.end_time and l.to_time > u.start_time
 order by l.schedule_id, l.from_time
