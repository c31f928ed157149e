-- A human says what became of an effect.
select cronledger.effect_resolve(%(scope)s, %(name)s, %(happened)s, %(result)s::jsonb, %(actor)s,
                                 %(reason)s)
