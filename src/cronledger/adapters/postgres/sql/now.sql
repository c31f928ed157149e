-- The database's clock, which decides.
select cronledger.now() as now
