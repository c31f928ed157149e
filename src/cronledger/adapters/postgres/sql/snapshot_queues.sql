-- Per queue: unfinished jobs by state, and the oldest of each kind of waiting. Reads only the hot
-- tables, so it costs what is active. Eligible is what a claim would take, promoted or not.
with eligible as (
  select queue_id, count(*) as n, min(eligible_at) as oldest
    from (select queue_id, eligible_at from cronledger.ready
           union all
          select queue_id, eligible_at from cronledger.deferred where eligible_at <= %(now)s) e
   group by queue_id),
waiting as (
  select queue_id, count(*) filter (where attempt = 0) as scheduled,
         count(*) filter (where attempt > 0) as retrying
    from cronledger.deferred where eligible_at > %(now)s group by queue_id),
leased as (
  select queue_id, count(*) filter (where expires_at > %(now)s) as leased,
         count(*) filter (where expires_at <= %(now)s) as lease_expired,
         min(claimed_at) filter (where expires_at > %(now)s) as oldest_lease,
         min(expires_at) filter (where expires_at <= %(now)s) as oldest_expired_lease
    from cronledger.lease group by queue_id),
unfinished as (
  select j.queue_id, min(coalesce(j.logical_time, j.run_at)) as oldest
    from (select job_id from cronledger.ready
           union all select job_id from cronledger.deferred
           union all select job_id from cronledger.lease) a
    join cronledger.job j on j.id = a.job_id
   where coalesce(j.logical_time, j.run_at) <= %(now)s group by j.queue_id),
dead as (
  select queue_id, count(*) as n, min(dead_at) as oldest from cronledger.dead
   where discarded_at is null group by queue_id)
select q.name,
       q.paused_at is not null and coalesce(q.paused_until > %(now)s, true) as claims_paused,
       coalesce(eligible.n, 0) as eligible, coalesce(waiting.scheduled, 0) as scheduled,
       coalesce(waiting.retrying, 0) as retrying, coalesce(leased.leased, 0) as leased,
       coalesce(leased.lease_expired, 0) as lease_expired, coalesce(dead.n, 0) as dead,
       eligible.oldest as oldest_eligible, unfinished.oldest as oldest_unfinished,
       leased.oldest_lease, leased.oldest_expired_lease, dead.oldest as oldest_dead_letter,
       case when q.retry_budget > 0
            then greatest(1 - coalesce(w.used, 0)::float / q.retry_budget, 0)
            when q.retry_budget = 0 then 0::float end as budget_left
  from cronledger.queue q
  left join eligible on eligible.queue_id = q.id
  left join waiting on waiting.queue_id = q.id
  left join leased on leased.queue_id = q.id
  left join unfinished on unfinished.queue_id = q.id
  left join dead on dead.queue_id = q.id
  left join cronledger.retry_window w
    on w.queue_id = q.id and w.minute = date_trunc('minute', %(now)s::timestamptz)
 order by q.name
