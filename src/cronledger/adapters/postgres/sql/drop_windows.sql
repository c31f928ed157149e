-- Forget the minutes of the retry budget that are over.
with gone as (
  delete from cronledger.retry_window w where w.minute < cronledger.now() - interval '1 day'
  returning 1)
select count(*)::int as n from gone
