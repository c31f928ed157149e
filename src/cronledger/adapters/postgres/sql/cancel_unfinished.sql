-- Cancel what a schedule has not finished, because a later occurrence is due.
select cronledger.cancel_unfinished(%(id)s)
