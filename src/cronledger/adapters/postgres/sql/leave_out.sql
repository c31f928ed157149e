-- Store ranges left out, and count them by class and reason. What a limit of the catch-up left out has
-- reached an end, and one that nobody wanted; what the file asks not to run has not.
with stored as (
  insert into cronledger.left_out (schedule_id, from_time, to_time, reason, count, decided_at)
  select u.*, cronledger.now()
    from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[],
                %(reasons)s::text[], %(counts)s::int[]) as u
  returning schedule_id, reason, count),
counted as (
  select s.class, stored.reason, sum(stored.count) as n,
         stored.reason in ('paused', 'skipped', 'excluded', 'overlap') as suppressed
    from stored join cronledger.schedule s on s.id = stored.schedule_id
   group by s.class, stored.reason)
insert into cronledger.stat_delta (metric, labels, n)
select case when suppressed then 'cronledger_occurrences_skipped_total'
            else 'cronledger_occurrences_abandoned_total' end, array[class, reason], n
  from counted
 union all
select 'cronledger_deliveries_total', array[class, 'abandoned'], sum(n)
  from counted where reason in ('outside_window', 'over_limit') group by class
