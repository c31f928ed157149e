-- Complete jobs under their leases; a job missing from the answer is stale.
select complete as job_id from cronledger.complete(%(job_ids)s::bigint[], %(tokens)s::bigint[])
