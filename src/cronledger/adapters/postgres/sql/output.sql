-- What the command of a job wrote, if it is one, and if this login may read it.
select o.exit_status, o.text as output from cronledger.output o where o.job_id = %(id)s
