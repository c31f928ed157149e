-- Let the claims of a queue go on.
select cronledger.resume_queue(%(queue)s, %(actor)s, %(reason)s) as resumed
