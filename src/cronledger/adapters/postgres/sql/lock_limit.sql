-- How long a decision waits for somebody else's lock before it lets the others go on.
select set_config('lock_timeout', %(milliseconds)s::int::text, true)
