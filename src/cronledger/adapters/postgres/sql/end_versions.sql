-- Set the ends of versions, each itself not in force any more; null opens a version again.
update cronledger.schedule_version v
   set effective_to = u.effective_to
  from unnest(%(ids)s::int[], %(numbers)s::int[], %(ends)s::timestamptz[])
       as u(schedule_id, number, effective_to)
 where v.schedule_id = u.schedule_id and v.number = u.number
