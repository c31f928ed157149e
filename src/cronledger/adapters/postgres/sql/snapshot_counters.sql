-- The durable counters and histograms: what was folded, and what was counted since; one row for each
-- series, a bucket of a histogram once or more. Of the metrics that have kinds (`by_kind`; none is named
-- while there are few kinds), all kinds but these are one.
select metric,
       case when metric <> all (%(by_kind)s::text[]) or labels[2] = any (%(kinds)s::text[]) then labels
            else array[labels[1], %(other)s::text] || labels[3:] end as labels,
       array_agg(le) as buckets, array_agg(n) as counts, sum(n)::bigint as n, sum(total) as total
  from (select metric, labels, le, n, total from cronledger.stat
         union all select metric, labels, le, n, total from cronledger.stat_delta) s
 group by 1, 2
