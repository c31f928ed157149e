-- Whether the set of a job is sealed, and the chunk that was added last.
select sealed, name, payload, tenant, run_at from cronledger.split_so_far(%(job_id)s, %(token)s)
