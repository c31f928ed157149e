-- Every schedule (or those named) with its versions, by name, each version after the one it follows.
select s.id, s.name, s.decided_to, s.pruned_to, v.number, v.effective_from, v.effective_to, v.spec, v.tzdata
  from cronledger.schedule s
  join cronledger.schedule_version v on v.schedule_id = s.id
 where (%(names)s::text[] is null or s.name = any (%(names)s))
   and (v.effective_to is null or v.effective_to > v.effective_from)
 order by s.name, v.effective_from
