-- How many workers hold leases now, over all queues.
select count(distinct worker)::int as n from cronledger.lease where expires_at > cronledger.now()
