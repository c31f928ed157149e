-- Write occurrences and their jobs, once each; those that exist already are not in the answer.
select schedule_id, extract(epoch from logical_time)::bigint as epoch
  from cronledger.enqueue_occurrences(
    %(schedule_ids)s::int[], %(logical_times)s::timestamptz[], %(run_ats)s::timestamptz[],
    %(versions)s::int[],
    %(utc_offsets)s::int[], %(folds)s::boolean[], %(moved)s::boolean[], %(collapsed)s::int[],
    %(via)s, %(as_of)s,
    %(spec_ids)s::int[], %(queues)s::text[], %(kinds)s::text[], %(payloads)s::text[]::jsonb[],
    %(priorities)s::int[], %(max_attempts)s::int[], %(timeouts)s::interval[],
    %(ordering_keys)s::text[])
