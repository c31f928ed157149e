-- Write jobs that no schedule owes, once for each key.
select key, job_id, inserted
  from cronledger.enqueue_once(%(queue)s, %(kind)s, %(keys)s::text[], %(payloads)s::text[]::jsonb[],
                               %(run_ats)s::timestamptz[], %(priority)s, %(ordering_keys)s::text[],
                               %(max_attempts)s, %(timeout)s::interval, %(schema_version)s,
                               %(tenants)s::text[], %(headers)s::text[]::jsonb[])
