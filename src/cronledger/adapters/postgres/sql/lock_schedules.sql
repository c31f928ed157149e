-- Lock all schedules, in one order, so that only one process at a time opens versions.
select id, name from cronledger.schedule order by id for no key update
