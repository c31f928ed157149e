-- Forget sets of chunks whose jobs are all gone.
select cronledger.drop_sets(%(before)s, %(limit)s) as n
