-- What the retention lets go: the first id that is kept, the days before it, and until when keys,
-- receipts and occurrences may go.
select cronledger.day_of_ids(cronledger.now() - l.keep_jobs) as kept_from,
       array(select d.first from cronledger.days() as d(first)
              where d.first < cronledger.day_of_ids(cronledger.now() - l.keep_jobs)) as days,
       cronledger.now() - l.keep_keys as keys_before,
       cronledger.now() - l.keep_receipts as receipts_before,
       date_trunc('day', cronledger.now() - l.keep_occurrences, 'UTC') as occurrences_before
  from cronledger.ledger l
