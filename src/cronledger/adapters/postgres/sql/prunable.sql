-- What the retention lets go: the first id that is kept, the days before it, and until when keys and
-- receipts may go.
select cronledger.day_of_ids(cronledger.now() - l.keep_jobs) as kept_from,
       array(select d.first from cronledger.days() as d(first)
              where d.first < cronledger.day_of_ids(cronledger.now() - l.keep_jobs)) as days,
       cronledger.now() - l.keep_keys as keys_before,
       cronledger.now() - l.keep_receipts as receipts_before
  from cronledger.ledger l
