-- Write occurrences and their jobs, once each; those that exist already are not in the answer.
select schedule_id, extract(epoch from logical_time)::bigint as epoch
  from cronledger.enqueue_occurrences(
    %(schedule_ids)s::int[], %(logical_times)s::timestamptz[], %(run_ats)s::timestamptz[],
    %(versions)s::int[],
    %(utc_offsets)s::int[], %(folds)s::boolean[], %(moved)s::boolean[], %(collapsed)s::int[],
    %(via)s, %(as_of)s,
    %(jobs)s::jsonb)
