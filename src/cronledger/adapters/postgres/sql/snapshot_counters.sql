-- The durable counters: what was folded, and what was counted since.
select metric, labels, sum(n)::bigint as n
  from (select metric, labels, n from cronledger.stat
         union all select metric, labels, n from cronledger.stat_delta) s
 group by metric, labels order by metric, labels
