-- Make the retry budget of all queues what the file says; what is so already is not written.
update cronledger.ledger
   set retry_budget = %(per_minute)s::int, budget_mode = %(mode)s
 where (retry_budget, budget_mode) is distinct from (%(per_minute)s::int, %(mode)s)
