-- One job by its id, and whether this login may read what commands write.
select j.id, j.key, j.queue, j.kind, j.state, j.attempt, j.max_attempts, j.run_at, j.eligible_at,
       j.created_at, j.claimed_at, j.finished_at, j.worker, j.error_class, j.error,
       j.lease_expires_at, j.cancel_requested_at, j.discarded_at, j.schema_version, j.tenant,
       has_table_privilege('cronledger.output', 'select') as may_read_output
  from cronledger.jobs j
 where j.id = %(id)s
