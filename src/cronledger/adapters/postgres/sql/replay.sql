-- Bring one dead job to life.
select cronledger.replay(%(job_id)s, %(run_at)s, %(actor)s, %(reason)s) as answer
