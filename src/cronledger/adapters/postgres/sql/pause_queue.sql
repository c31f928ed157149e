-- Stop the claims of a queue.
select cronledger.pause_queue(%(queue)s, %(until)s, %(actor)s, %(reason)s)
