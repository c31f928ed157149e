-- Close the versions in force of these schedules; the moment itself belongs to what follows.
update cronledger.schedule_version
   set effective_to = greatest(effective_from, %(at)s)
 where schedule_id = any (%(ids)s) and effective_to is null
