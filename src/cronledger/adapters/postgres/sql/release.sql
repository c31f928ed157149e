-- Hand leases back, uncharged; a job missing from the answer is stale.
select release as job_id from cronledger.release(%(job_ids)s::bigint[], %(tokens)s::bigint[])
