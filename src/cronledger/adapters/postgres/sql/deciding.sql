-- Lock schedules for a decision; the order keeps two processes from waiting on each other.
select id, decided_to from cronledger.schedule
 where id = any (%(ids)s) order by id for no key update
