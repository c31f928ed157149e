-- Fail one attempt under its lease.
select cronledger.fail(%(job_id)s, %(token)s, %(error_class)s, %(error)s, %(retryable)s,
                       %(retry_after)s::interval, %(started)s, %(ran)s) as settlement
