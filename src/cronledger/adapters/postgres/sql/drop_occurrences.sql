-- Drop occurrences that are kept no longer, and keep their count.
select cronledger.drop_occurrences(%(before)s, %(limit)s) as n
