-- Open versions.
insert into cronledger.schedule_version
       (schedule_id, number, effective_from, effective_to, timing_hash, spec, tzdata)
select u.schedule_id, u.number, u.effective_from, u.effective_to, u.timing_hash, u.spec::jsonb,
       u.tzdata
  from unnest(%(ids)s::int[], %(numbers)s::int[], %(starts)s::timestamptz[],
              %(ends)s::timestamptz[], %(hashes)s::text[], %(specs)s::text[], %(tzdata)s::text[])
       as u(schedule_id, number, effective_from, effective_to, timing_hash, spec, tzdata)
