-- Lease eligible jobs.
select * from cronledger.claim(%(queues)s::text[], %(kinds)s::text[], %(limit)s, %(worker)s,
                               %(alone)s, %(floor)s)
