-- Per queue: unfinished jobs by state, the oldest of each kind of waiting, and the schedules that have due
-- jobs in it with the time of the oldest (`due_epochs`; a schedule may be there more than once). Reads the
-- hot tables and nothing else, so it costs what is active; the large one is read once. Eligible is what a
-- claim would take, promoted or not.
with ready as materialized (
  select queue_id, for_schedule, count(*)::int as n, min(eligible_at) as oldest_eligible, min(due_at) as due_at
    from cronledger.ready group by queue_id, for_schedule),
eligible as (
  select queue_id, sum(n) as n, min(oldest_eligible) as oldest, min(due_at) as due_at
    from ready group by queue_id),
deferred as (
  select queue_id, count(*) filter (where eligible_at <= %(now)s) as eligible,
         min(eligible_at) filter (where eligible_at <= %(now)s) as oldest_eligible,
         count(*) filter (where eligible_at > %(now)s and attempt = 0) as scheduled,
         count(*) filter (where eligible_at > %(now)s and attempt > 0) as retrying,
         min(due_at) as due_at
    from cronledger.deferred group by queue_id),
leased as (
  select queue_id, count(*) filter (where expires_at > %(now)s) as leased,
         count(*) filter (where expires_at <= %(now)s) as lease_expired,
         min(claimed_at) filter (where expires_at > %(now)s) as oldest_lease,
         min(expires_at) filter (where expires_at <= %(now)s) as oldest_expired_lease,
         min(due_at) as due_at
    from cronledger.lease group by queue_id),
owed as (
  select queue_id, array_agg(for_schedule) as schedules,
         array_agg(date_part('epoch', due_at)) as due_epochs
    from (select queue_id, for_schedule, due_at from ready
           union all
          select queue_id, for_schedule, min(due_at) from cronledger.deferred
           where due_at <= %(now)s group by queue_id, for_schedule
           union all
          select queue_id, for_schedule, due_at from cronledger.lease) o
   where for_schedule is not null and due_at <= %(now)s group by queue_id),
dead as (
  select queue_id, count(*) as n, min(dead_at) as oldest from cronledger.dead
   where discarded_at is null group by queue_id)
select q.name,
       q.paused_at is not null and coalesce(q.paused_until > %(now)s, true) as claims_paused,
       (coalesce(eligible.n, 0) + coalesce(deferred.eligible, 0))::bigint as eligible,
       coalesce(deferred.scheduled, 0) as scheduled, coalesce(deferred.retrying, 0) as retrying,
       coalesce(leased.leased, 0) as leased, coalesce(leased.lease_expired, 0) as lease_expired,
       coalesce(dead.n, 0) as dead,
       least(eligible.oldest, deferred.oldest_eligible) as oldest_eligible,
       case when least(eligible.due_at, deferred.due_at, leased.due_at) <= %(now)s
            then least(eligible.due_at, deferred.due_at, leased.due_at) end as oldest_unfinished,
       leased.oldest_lease, leased.oldest_expired_lease, dead.oldest as oldest_dead_letter,
       case when q.retry_budget > 0
            then greatest(1 - coalesce(w.used, 0)::float / q.retry_budget, 0)
            when q.retry_budget = 0 then 0::float end as budget_left,
       coalesce(owed.schedules, '{}') as schedules, coalesce(owed.due_epochs, '{}') as due_epochs
  from cronledger.queue q
  left join eligible on eligible.queue_id = q.id
  left join deferred on deferred.queue_id = q.id
  left join leased on leased.queue_id = q.id
  left join owed on owed.queue_id = q.id
  left join dead on dead.queue_id = q.id
  left join cronledger.retry_window w
    on w.queue_id = q.id and w.minute = date_trunc('minute', %(now)s::timestamptz)
 order by q.name
