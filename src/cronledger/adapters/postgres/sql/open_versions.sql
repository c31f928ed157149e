-- The version in force of each schedule, and the highest number given so far.
select s.id, s.name, s.decided_to, v.timing_hash, v.effective_from,
       coalesce((select max(n.number) from cronledger.schedule_version n
                  where n.schedule_id = s.id), 0) as highest,
       (select max(n.effective_to) from cronledger.schedule_version n
         where n.schedule_id = s.id) as ended_at
  from cronledger.schedule s
  left join cronledger.schedule_version v on v.schedule_id = s.id and v.effective_to is null
