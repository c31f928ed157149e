-- The durable counters and histograms: what was folded, and what was counted since. Of the metrics that
-- have kinds, all but these are one.
select metric,
       case when metric <> all (%(by_kind)s::text[]) or labels[2] = any (%(kinds)s::text[]) then labels
            else array[labels[1], %(other)s::text] || labels[3:] end as labels,
       le, sum(n)::bigint as n, sum(total) as total
  from (select metric, labels, le, n, total from cronledger.stat
         union all select metric, labels, le, n, total from cronledger.stat_delta) s
 group by 1, 2, 3 order by 1, 2, 3
