-- Hear of these queues for the next minute; gives the channels that are new to this session.
select channel from cronledger.listen(%(queues)s::text[], %(pid)s) as channel
