-- Forget receipts of effects.
select cronledger.effect_purge(%(before)s, %(limit)s) as n
