-- The queues with their pauses and what is in them, by name. Counts only what is active.
select q.name, q.paused_at, q.paused_by, q.pause_reason, q.paused_until,
       coalesce(r.n, 0) as eligible, coalesce(l.n, 0) as leased, coalesce(d.n, 0) as waiting,
       coalesce(x.n, 0) as dead
  from cronledger.queue q
  left join (select queue_id, count(*) as n from cronledger.ready group by queue_id) r
    on r.queue_id = q.id
  left join (select queue_id, count(*) as n from cronledger.lease group by queue_id) l
    on l.queue_id = q.id
  left join (select queue_id, count(*) as n from cronledger.deferred group by queue_id) d
    on d.queue_id = q.id
  left join (select queue_id, count(*) as n from cronledger.dead
              where discarded_at is null group by queue_id) x on x.queue_id = q.id
 order by q.name
