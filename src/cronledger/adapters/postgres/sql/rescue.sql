-- Take back expired leases.
select cronledger.rescue(%(limit)s) as rescued
