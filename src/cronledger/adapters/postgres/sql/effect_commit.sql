-- Write down that an effect has happened.
select cronledger.effect_commit(%(job_id)s, %(token)s, %(name)s, %(result)s::jsonb) as committed
