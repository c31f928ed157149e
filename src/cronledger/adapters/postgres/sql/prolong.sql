-- Let the lease of one job last longer.
select cronledger.prolong(%(job_id)s, %(by)s::interval, %(actor)s, %(reason)s) as answer
