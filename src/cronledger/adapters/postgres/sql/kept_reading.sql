-- What the leader kept last.
select body from cronledger.reading
