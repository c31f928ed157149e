-- Seal the set of a job under its lease, and say what follows.
select cronledger.seal(%(job_id)s, %(token)s, %(kind)s, %(payload)s::jsonb, %(queue)s,
                       %(schema_version)s) as sealed
