-- The retry budget: how many retries a minute a queue may have, and all queues together. A cap over
-- time, which the cap on the attempts of one job is not: what fails everywhere at once is not made
-- worse by its retries.

create table cronledger.retry_window (
  queue_id int not null,                    -- 0 stands for all queues
  minute   timestamptz not null,
  used     int not null default 0 check (used >= 0),
  denied   int not null default 0 check (denied >= 0),
  primary key (queue_id, minute)
) with (fillfactor = 50);

-- Take one retry from the budget of a queue and from that of all queues; '' if granted, else the mode
-- that says what becomes of the retry. Exact: the rows of the minute are locked, always all queues'
-- first, so that nobody waits in a ring. A queue without a budget locks nothing.
create function cronledger.take_retry(p_queue_id int) returns text
language plpgsql as $$
declare
  this_minute timestamptz := date_trunc('minute', cronledger.now());
  scope record;
begin
  for scope in
    select b.queue_id, b.per_minute, b.mode
      from (select 0 as queue_id, l.retry_budget as per_minute, l.budget_mode as mode
              from cronledger.ledger l
             union all
            select q.id, q.retry_budget, q.budget_mode from cronledger.queue q
             where q.id = p_queue_id) b
     where b.per_minute is not null
     order by b.queue_id
  loop
    insert into cronledger.retry_window (queue_id, minute) values (scope.queue_id, this_minute)
    on conflict do nothing;
    perform from cronledger.retry_window w
      where w.queue_id = scope.queue_id and w.minute = this_minute for update;
    if (select w.used from cronledger.retry_window w
         where w.queue_id = scope.queue_id and w.minute = this_minute) >= scope.per_minute then
      update cronledger.retry_window w set denied = w.denied + 1
       where w.queue_id = scope.queue_id and w.minute = this_minute;
      return scope.mode;
    end if;
  end loop;
  update cronledger.retry_window w set used = w.used + 1
   where w.minute = this_minute
     and (w.queue_id = p_queue_id
          or (w.queue_id = 0 and exists (select from cronledger.ledger l
                                          where l.retry_budget is not null)));
  return '';
end $$;
