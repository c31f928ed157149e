-- Everything due before this moment has been decided on; what came due is counted once.
with moved as (
  update cronledger.schedule s
     set decided_to = %(decided_to)s
    from unnest(%(ids)s::int[]) as u(id)
   where s.id = u.id and s.decided_to < %(decided_to)s)
insert into cronledger.stat_delta (metric, labels, n)
select 'cronledger_occurrences_expected_total', array['default'], %(came_due)s::bigint
 where %(came_due)s > 0
