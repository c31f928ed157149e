-- One job by its id, with what its command wrote, if it is one.
select j.id, j.key, j.queue, j.kind, j.state, j.attempt, j.max_attempts, j.run_at, j.eligible_at,
       j.created_at, j.claimed_at, j.finished_at, j.worker, j.error_class, j.error,
       j.lease_expires_at, j.cancel_requested_at, j.discarded_at, o.exit_status, o.text as output
  from cronledger.jobs j
  left join cronledger.output o on o.job_id = j.id
 where j.id = %(id)s
