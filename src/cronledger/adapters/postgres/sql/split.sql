-- Add chunks to the set of a job under its lease.
select cronledger.split(%(job_id)s, %(token)s, %(kind)s, %(names)s::text[], %(payloads)s::jsonb[],
                        %(run_ats)s::timestamptz[], %(tenants)s::text[], %(queue)s,
                        %(max_attempts)s, %(timeout)s, %(schema_version)s) as added
