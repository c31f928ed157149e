-- Delete finished jobs that lie in no day of their own.
select cronledger.drop_strays(%(end)s, %(limit)s) as n
