-- Keep the latest recorded time of each schedule since the last fold. Rows another process folds are
-- passed over.
with taken as (
  delete from cronledger.newest_delta where ctid = any (array(
    select ctid from cronledger.newest_delta limit %(limit)s for update skip locked))
  returning schedule_id, logical_time),
latest as (select schedule_id, max(logical_time) as logical_time from taken group by schedule_id)
insert into cronledger.newest as n (schedule_id, logical_time)
select schedule_id, logical_time from latest order by schedule_id
    on conflict (schedule_id) do update
   set logical_time = excluded.logical_time where n.logical_time < excluded.logical_time
