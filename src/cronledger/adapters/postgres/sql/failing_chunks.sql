-- Chunks of a set that are dead, and then those that wait for another attempt, each the oldest first.
select c.id, c.key, c.queue, c.kind, c.state, c.attempt, c.max_attempts, c.run_at, c.eligible_at,
       c.created_at, c.claimed_at, c.finished_at, c.worker, c.error_class, c.error,
       c.lease_expires_at, c.cancel_requested_at, c.discarded_at
  from cronledger.chunks c
 where c.set_id = %(id)s and (c.state in ('dead', 'retrying') or c.state = 'eligible' and c.error_class is not null)
 order by c.state, c.id limit %(limit)s
