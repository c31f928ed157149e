-- One job of a schedule, outside its occurrences.
select cronledger.enqueue_by_hand(
         %(schedule_id)s, %(key)s, %(queue)s, %(kind)s, %(payload)s::jsonb, %(priority)s,
         %(max_attempts)s, %(timeout)s::interval, %(schema_version)s, %(tenant)s,
         %(headers)s::jsonb) as job_id
