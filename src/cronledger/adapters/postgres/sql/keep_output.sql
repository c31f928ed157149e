-- Keep what the command of an attempt wrote.
select cronledger.keep_output(%(job_id)s, %(token)s, %(exit_status)s, %(text)s) as kept
