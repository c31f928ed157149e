-- Everything due before this moment has been decided on; what came due is counted once, by class.
with given as (
  select * from unnest(%(ids)s::int[], %(came_due)s::int[]) as u(id, came_due)),
moved as (
  update cronledger.schedule s
     set decided_to = %(decided_to)s
    from given where s.id = given.id and s.decided_to < %(decided_to)s)
insert into cronledger.stat_delta (metric, labels, n)
select 'cronledger_occurrences_expected_total', array[s.class], sum(given.came_due)
  from given join cronledger.schedule s on s.id = given.id
 where given.came_due > 0 group by s.class
