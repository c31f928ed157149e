-- One job by its id.
select id, key, queue, kind, state, attempt, max_attempts, run_at, eligible_at, created_at,
       claimed_at, finished_at, worker, error_class, error,
       lease_expires_at, cancel_requested_at, discarded_at
  from cronledger.jobs where id = %(id)s
