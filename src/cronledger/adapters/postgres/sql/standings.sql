-- Every schedule (or those named) with its versions, by name and number.
select s.id, s.name, s.decided_to, v.number, v.effective_from, v.effective_to, v.spec
  from cronledger.schedule s
  join cronledger.schedule_version v on v.schedule_id = s.id
 where %(names)s::text[] is null or s.name = any (%(names)s)
 order by s.name, v.number
