-- Lead no more.
select cronledger.resign(%(holder)s)
