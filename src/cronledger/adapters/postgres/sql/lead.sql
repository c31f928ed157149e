-- Lead, or follow.
select leads, followed from cronledger.lead(%(holder)s, %(span)s)
