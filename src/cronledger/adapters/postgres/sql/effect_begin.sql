-- Write down that an effect is about to be tried.
select decision, idempotency_key, result
  from cronledger.effect_begin(%(job_id)s, %(token)s, %(name)s, %(fingerprint)s,
                               %(window)s::interval)
