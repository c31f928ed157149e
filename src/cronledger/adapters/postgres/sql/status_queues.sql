-- What a person wants to know of each queue beyond its counts: its objective, its pause, how many
-- workers hold leases of it, and what became of its retry budget.
select q.name, q.objective, q.paused_by, q.pause_reason, q.retry_budget,
       coalesce(l.workers, 0) as workers, coalesce(w.used, 0) as retries_used,
       coalesce(w.denied, 0) as retries_denied
  from cronledger.queue q
  left join (select queue_id, count(distinct worker) as workers from cronledger.lease
              where expires_at > cronledger.now() group by queue_id) l on l.queue_id = q.id
  left join (select queue_id, sum(denied)::int as denied,
                    coalesce(sum(used) filter (
                      where minute = date_trunc('minute', cronledger.now())), 0)::int as used
               from cronledger.retry_window
              where minute > cronledger.now() - interval '15 minutes' group by queue_id) w
    on w.queue_id = q.id
 order by q.name
