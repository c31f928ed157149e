-- The set of chunks of a job.
select id, key, state, total, completed, dead, cancelled, unsettled, created_at, sealed_at, finished_at,
       then_kind, then_id
  from cronledger.chunk_sets where id = %(id)s
