-- Put one dead letter away.
select cronledger.discard(%(job_id)s, %(actor)s, %(reason)s) as answer
