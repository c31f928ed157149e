-- The kinds of which there were most jobs.
select labels[2] as kind
  from (select labels, n from cronledger.stat where metric = 'cronledger_jobs_created_total'
         union all
        select labels, n from cronledger.stat_delta where metric = 'cronledger_jobs_created_total') s
 group by labels[2] order by sum(n) desc, labels[2] limit %(limit)s
