-- Add up what was counted since the last fold. Rows another process folds are passed over.
with taken as (
  delete from cronledger.stat_delta where ctid = any (array(
    select ctid from cronledger.stat_delta limit %(limit)s for update skip locked))
  returning metric, labels, n),
summed as (select metric, labels, sum(n) as n from taken group by metric, labels)
insert into cronledger.stat as s (metric, labels, n)
select metric, labels, n from summed order by metric, labels
    on conflict (metric, labels) do update set n = s.n + excluded.n
