-- Cancel one job, or ask its worker to.
select cronledger.cancel(%(job_id)s, %(actor)s, %(reason)s) as answer
