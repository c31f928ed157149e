-- How long a decision waits for somebody else's lock before it lets the others go on.
set local lock_timeout = '2s'
