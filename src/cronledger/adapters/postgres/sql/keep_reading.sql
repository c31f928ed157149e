-- Keep what was measured for those who follow.
select cronledger.keep_reading(%(holder)s, %(taken_at)s, %(body)s) as kept
