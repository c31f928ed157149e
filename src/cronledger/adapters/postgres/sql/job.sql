-- One job by its id.
select id, key, queue, kind, state, attempt, max_attempts, run_at, eligible_at, created_at,
       claimed_at, finished_at, worker, error_class, error
  from cronledger.jobs where id = %(id)s
