-- Wake-ups: a NOTIFY to the workers that listen, so that a job on an idle queue starts at once and
-- not with the next poll. Polling is the truth; any wake-up may be lost, and none is waited for.
--
-- A commit that carries a NOTIFY holds a lock of the whole server until it is on disk. So one is sent
-- only where a worker listens, and about once in 25 ms at most. When that was stands in sequences,
-- not in rows: setval() counts at once and for all, waits for no transaction and leaves nothing to
-- vacuum; a row would be locked, and everyone else silent, until the transaction that has it ends.
--
-- There are 16 pairs: queues share one by their id, at the price of a wake-up too many. Times in them
-- are milliseconds of the server's own clock.
do $$
begin
  for slot in 0..15 loop
    execute format('create sequence cronledger.wake_sent_%s', slot);
    execute format('create sequence cronledger.wake_until_%s', slot);   -- until then somebody listens
  end loop;
end $$;

-- Jobs of this queue may be claimable that were not. Whatever makes them so calls it. The setting
-- cronledger.wake = off (of a transaction, a role, a database) lets it do nothing: a transaction that
-- is to be prepared for a commit in two phases must not notify.
create function cronledger.wake(p_queue_id int) returns void
language plpgsql as $$
declare
  slot int := p_queue_id % 16;
  at bigint := extract(epoch from clock_timestamp()) * 1000;
begin
  if coalesce(pg_sequence_last_value(('cronledger.wake_until_' || slot)::regclass), 0) < at
     or current_setting('cronledger.wake', true) = 'off'
     -- A difference, because a clock may be set back.
     or abs(at - coalesce(pg_sequence_last_value(('cronledger.wake_sent_' || slot)::regclass), 0)) < 25
  then
    return;
  end if;
  perform setval(('cronledger.wake_sent_' || slot)::regclass, at);
  perform pg_notify('cronledger_wake_' || slot, '');
end $$;

-- Let this session hear of these queues (of every queue, where none is named) for the next minute;
-- gives the channels that it did not listen on before. p_pid is the process that the driver believes
-- to talk to: it is another behind a pooler, whose sessions cannot listen.
create function cronledger.listen(p_queues text[], p_pid int) returns setof text
language plpgsql as $$
declare
  slot int;
  channel text;
begin
  if p_pid is distinct from pg_backend_pid() then
    raise exception 'a pooler stands between, and what listens there hears nothing'
      using errcode = 'feature_not_supported';
  end if;
  for slot in
    select distinct q.id % 16 from cronledger.queue q
     where q.name = any (p_queues) or cardinality(p_queues) = 0
     order by 1
  loop
    channel := 'cronledger_wake_' || slot;
    perform setval(('cronledger.wake_until_' || slot)::regclass,
                   (extract(epoch from clock_timestamp()) * 1000)::bigint + 60000);
    if channel not in (select pg_listening_channels()) then
      execute format('listen %I', channel);
      return next channel;
    end if;
  end loop;
end $$;
