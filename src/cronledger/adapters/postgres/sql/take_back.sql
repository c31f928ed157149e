-- Take the lease of one job from its worker.
select cronledger.take_back(%(job_id)s, %(actor)s, %(reason)s) as answer
