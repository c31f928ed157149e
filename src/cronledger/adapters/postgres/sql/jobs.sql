-- Jobs as people look at them, newest first.
select id, key, queue, kind, state, attempt, max_attempts, run_at, eligible_at, created_at,
       claimed_at, finished_at, worker, error_class, error,
       lease_expires_at, cancel_requested_at, discarded_at
  from cronledger.jobs
 where (%(queue)s::text is null or queue = %(queue)s)
   and (%(state)s::text is null or state = %(state)s)
   and (%(kind)s::text is null or kind = %(kind)s)
   and (%(error_class)s::text is null or error_class = %(error_class)s)
 order by id desc limit %(limit)s
