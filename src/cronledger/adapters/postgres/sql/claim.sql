-- Lease eligible jobs; the columns are the fields of a lease, in their order.
select job_id, token, key, kind, queue, payload, logical_time, attempt, max_attempts, eligible_at,
       claimed_at, expires_at, lease, timeout, schema_version, tenant, headers, alone, rank
  from cronledger.claim(%(queues)s::text[], %(kinds)s::text[], %(limit)s, %(worker)s, %(alone)s,
                        %(floor)s)
