-- Per schedule: the latest logical time that was recorded, and when an occurrence last completed; as
-- epochs, which the driver reads faster. What was not folded yet counts.
select s.id, s.name, date_part('epoch', greatest(n.logical_time, nd.logical_time)) as last_recorded,
       date_part('epoch', greatest(u.at, ud.at)) as last_success
  from cronledger.schedule s
  left join cronledger.newest n on n.schedule_id = s.id
  left join (select schedule_id, max(logical_time) as logical_time from cronledger.newest_delta
              group by schedule_id) nd on nd.schedule_id = s.id
  left join cronledger.success u on u.schedule_id = s.id
  left join (select schedule_id, max(at) as at from cronledger.success_delta
              group by schedule_id) ud on ud.schedule_id = s.id
