-- Add up what was counted since the last fold. Rows another process folds are passed over.
with taken as (
  delete from cronledger.stat_delta where ctid = any (array(
    select ctid from cronledger.stat_delta limit %(limit)s for update skip locked))
  returning metric, labels, le, n, total),
summed as (
  select metric, labels, le, sum(n) as n, sum(total) as total from taken group by metric, labels, le)
insert into cronledger.stat as s (metric, labels, le, n, total)
select metric, labels, le, n, total from summed order by metric, labels, le
    on conflict (metric, labels, le) do update
   set n = s.n + excluded.n, total = s.total + excluded.total
