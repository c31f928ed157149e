-- Drop the jobs of one day.
select cronledger.drop_day(%(first)s)::int as n
