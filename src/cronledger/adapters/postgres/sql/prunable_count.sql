-- How many rows of each kind the retention lets go. Reads what it counts.
select (select count(*) from cronledger.outcome o
         where o.job_id < %(kept_from)s
           and not exists (select from cronledger.dead d
                            where d.job_id = o.job_id and d.discarded_at is null)) as jobs,
       (select count(*) from cronledger.job_key k where k.created_at < %(keys_before)s) as keys,
       (select count(*) from cronledger.effect e
         where e.state = 'committed' and e.committed_at < %(receipts_before)s) as receipts,
       (select count(*) from cronledger.occurrence o
         where o.logical_time < %(occurrences_before)s::timestamptz
           and (o.final_state is not null or o.via = 'external')
           and exists (select from cronledger.occurrence n
                        where n.schedule_id = o.schedule_id and n.logical_time > o.logical_time))
         as occurrences
