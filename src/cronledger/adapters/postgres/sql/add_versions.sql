-- Open versions from this moment on.
insert into cronledger.schedule_version
       (schedule_id, number, effective_from, timing_hash, spec, tzdata)
select u.schedule_id, u.number, %(at)s, u.timing_hash, u.spec::jsonb, %(tzdata)s
  from unnest(%(ids)s::int[], %(numbers)s::int[], %(hashes)s::text[], %(specs)s::text[])
       as u(schedule_id, number, timing_hash, spec)
