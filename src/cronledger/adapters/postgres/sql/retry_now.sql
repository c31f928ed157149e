-- Let one waiting job be claimed now.
select cronledger.retry_now(%(job_id)s, %(actor)s, %(reason)s) as answer
