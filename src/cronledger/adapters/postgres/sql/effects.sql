-- Receipts of effects, newest first.
select scope as key, name as effect, state, generation, started_at, committed_at, provider_window,
       attempt, job_id, result
  from cronledger.effect
 where (%(state)s::text is null or state = %(state)s)
   and (%(scope)s::text is null or scope = %(scope)s)
 order by started_at desc limit %(limit)s
