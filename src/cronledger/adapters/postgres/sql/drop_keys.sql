-- Forget keys of jobs that no schedule owes.
select cronledger.drop_keys(%(before)s, %(limit)s) as n
