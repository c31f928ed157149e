-- Store ranges left out, and count them by reason.
with stored as (
  insert into cronledger.left_out (schedule_id, from_time, to_time, reason, count, decided_at)
  select u.*, cronledger.now()
    from unnest(%(ids)s::int[], %(starts)s::timestamptz[], %(ends)s::timestamptz[],
                %(reasons)s::text[], %(counts)s::int[]) as u
  returning reason, count)
insert into cronledger.stat_delta (metric, labels, n)
select case when reason in ('paused', 'skipped', 'excluded', 'overlap')
            then 'cronledger_occurrences_skipped_total'
            else 'cronledger_occurrences_abandoned_total' end,
       array['default', reason], sum(count)
  from stored group by reason
