-- Complete jobs under their leases, in one row; a job missing from the answer is stale.
select array(select cronledger.complete(%(job_ids)s::bigint[], %(tokens)s::bigint[])) as job_ids
