-- Every schedule; which logical time of which was recorded last, and when which last completed. Columns
-- as arrays in one row, by id, and times as epochs: it is read in a third of the time that joined rows
-- take, and compared with the reading before. What was not folded yet comes after what was.
select s.*, n.*, u.*
  from (select coalesce(array_agg(id), '{}') as ids, coalesce(array_agg(name), '{}') as names
          from (select id, name from cronledger.schedule order by id) s) s,
       (select coalesce(array_agg(schedule_id), '{}') as recorded,
               coalesce(array_agg(date_part('epoch', logical_time)), '{}') as recorded_epochs
          from (select schedule_id, logical_time from cronledger.newest
                 union all
                select schedule_id, max(logical_time) from cronledger.newest_delta
                 group by schedule_id) n) n,
       (select coalesce(array_agg(schedule_id), '{}') as succeeded,
               coalesce(array_agg(date_part('epoch', at)), '{}') as succeeded_epochs
          from (select schedule_id, at from cronledger.success
                 union all
                select schedule_id, max(at) from cronledger.success_delta group by schedule_id) u) u
