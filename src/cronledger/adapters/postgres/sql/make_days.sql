-- Tables for the days to come.
select cronledger.make_days(%(ahead)s) as n
