-- Make the retry budget of all queues and the retention what the file says; what is so already is not
-- written.
update cronledger.ledger
   set retry_budget = %(per_minute)s::int, budget_mode = %(mode)s, keep_jobs = %(jobs)s::interval,
       keep_keys = %(keys)s::interval, keep_receipts = %(receipts)s::interval,
       keep_occurrences = %(occurrences)s::interval
 where (retry_budget, budget_mode, keep_jobs, keep_keys, keep_receipts, keep_occurrences)
       is distinct from (%(per_minute)s::int, %(mode)s, %(jobs)s::interval, %(keys)s::interval,
                         %(receipts)s::interval, %(occurrences)s::interval)
