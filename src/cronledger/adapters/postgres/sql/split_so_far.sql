-- Whether the set of a job is sealed, and the chunk that was added last.
select s.sealed_at is not null as sealed, c.name, j.payload, j.tenant, j.run_at
  from cronledger.chunk_set s
  left join cronledger.chunk c on c.job_id = s.last_id
  left join cronledger.job j on j.id = s.last_id
 where s.id = %(job_id)s
