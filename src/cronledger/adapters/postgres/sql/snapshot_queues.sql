-- Per queue: unfinished jobs by state, the oldest of each kind of waiting, and for each schedule that
-- has jobs in it since when the oldest was due. Reads each of the hot tables once and nothing else, so it
-- costs what is active. Eligible is what a claim would take, promoted or not.
with active as materialized (
  select queue_id, for_schedule, min(due_at) as oldest_unfinished, count(*) as eligible,
         min(eligible_at) as oldest_eligible, null::bigint as scheduled, null::bigint as retrying,
         null::bigint as leased, null::bigint as lease_expired, null::timestamptz as oldest_lease,
         null::timestamptz as oldest_expired_lease
    from cronledger.ready group by queue_id, for_schedule
   union all
  select queue_id, for_schedule, min(due_at), count(*) filter (where eligible_at <= %(now)s),
         min(eligible_at) filter (where eligible_at <= %(now)s),
         count(*) filter (where eligible_at > %(now)s and attempt = 0),
         count(*) filter (where eligible_at > %(now)s and attempt > 0), null, null, null, null
    from cronledger.deferred group by queue_id, for_schedule
   union all
  select queue_id, for_schedule, min(due_at), null, null, null, null,
         count(*) filter (where expires_at > %(now)s), count(*) filter (where expires_at <= %(now)s),
         min(claimed_at) filter (where expires_at > %(now)s),
         min(expires_at) filter (where expires_at <= %(now)s)
    from cronledger.lease group by queue_id, for_schedule),
-- The oldest of those that are due is the oldest of all, if any is due.
line as (
  select queue_id, min(oldest_unfinished) filter (where oldest_unfinished <= %(now)s) as oldest_unfinished,
         sum(eligible)::bigint as eligible, min(oldest_eligible) as oldest_eligible,
         sum(scheduled)::bigint as scheduled, sum(retrying)::bigint as retrying,
         sum(leased)::bigint as leased, sum(lease_expired)::bigint as lease_expired,
         min(oldest_lease) as oldest_lease, min(oldest_expired_lease) as oldest_expired_lease,
         array_agg(for_schedule) filter (
           where for_schedule is not null and oldest_unfinished <= %(now)s) as schedules,
         array_agg(date_part('epoch', oldest_unfinished)) filter (
           where for_schedule is not null and oldest_unfinished <= %(now)s) as due_epochs
    from active group by queue_id),
dead as (
  select queue_id, count(*) as n, min(dead_at) as oldest from cronledger.dead
   where discarded_at is null group by queue_id)
select q.name,
       q.paused_at is not null and coalesce(q.paused_until > %(now)s, true) as claims_paused,
       coalesce(line.eligible, 0) as eligible, coalesce(line.scheduled, 0) as scheduled,
       coalesce(line.retrying, 0) as retrying, coalesce(line.leased, 0) as leased,
       coalesce(line.lease_expired, 0) as lease_expired, coalesce(dead.n, 0) as dead,
       line.oldest_eligible, line.oldest_unfinished, line.oldest_lease, line.oldest_expired_lease,
       dead.oldest as oldest_dead_letter,
       case when q.retry_budget > 0
            then greatest(1 - coalesce(w.used, 0)::float / q.retry_budget, 0)
            when q.retry_budget = 0 then 0::float end as budget_left,
       coalesce(line.schedules, '{}') as schedules, coalesce(line.due_epochs, '{}') as due_epochs
  from cronledger.queue q
  left join line on line.queue_id = q.id
  left join dead on dead.queue_id = q.id
  left join cronledger.retry_window w
    on w.queue_id = q.id and w.minute = date_trunc('minute', %(now)s::timestamptz)
 order by q.name
