-- Keep the latest success of each schedule since the last fold. Rows another process folds are passed
-- over.
with taken as (
  delete from cronledger.success_delta where ctid = any (array(
    select ctid from cronledger.success_delta limit %(limit)s for update skip locked))
  returning schedule_id, at),
latest as (select schedule_id, max(at) as at from taken group by schedule_id)
insert into cronledger.success as s (schedule_id, at)
select schedule_id, at from latest order by schedule_id
    on conflict (schedule_id) do update set at = greatest(s.at, excluded.at)
