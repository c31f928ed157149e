-- Jobs as people look at them, newest first.
select id, key, queue, kind, state, attempt, max_attempts, run_at, eligible_at, created_at,
       claimed_at, finished_at, worker, error_class, error
  from cronledger.jobs
 where (%(queue)s::text is null or queue = %(queue)s)
   and (%(state)s::text is null or state = %(state)s)
 order by id desc limit %(limit)s
