-- Cancel the chunks of a set that wait.
select cronledger.cancel_chunks(%(id)s, %(actor)s, %(reason)s) as n
