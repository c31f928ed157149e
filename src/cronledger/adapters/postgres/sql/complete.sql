-- Complete jobs under their leases, in one row; a job missing from the answer is stale.
select array(select cronledger.complete(%(job_ids)s::bigint[], %(tokens)s::bigint[],
                                        %(started)s::float8[], %(ran)s::float8[])) as job_ids
