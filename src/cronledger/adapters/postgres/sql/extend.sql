-- Extend the leases that are still ours; a job missing from the answer has lost its lease.
select job_id, cancel_requested from cronledger.extend(%(job_ids)s::bigint[], %(tokens)s::bigint[])
