-- Every schedule, with its versions that are in force at a moment or later, by name and number.
-- `highest` is the highest number given so far, `ended_at` when the last version ended.
select s.id, s.name, s.decided_to, n.highest, n.ended_at,
       v.number, v.effective_from, v.effective_to, v.timing_hash, v.loaded_at, v.tzdata,
       v.spec ->> 'timezone' as timezone
  from cronledger.schedule s
  left join lateral (
    select coalesce(max(a.number), 0) as highest, max(a.effective_to) as ended_at
      from cronledger.schedule_version a where a.schedule_id = s.id) n on true
  left join cronledger.schedule_version v
    on v.schedule_id = s.id
   and (v.effective_to is null
        or (v.effective_to > %(at)s and v.effective_to > v.effective_from))
 order by s.name, v.number
