-- What operators do by hand. Each function writes who, why, before and after in its own transaction;
-- an actor and a reason of eight characters or more are required. What the state of a job does not
-- allow is refused (errcode 55000), and what has been done already is said and changes nothing.

-- What an audit row says of a job: where it stands.
create function cronledger.standing_of(p_job_id bigint) returns jsonb
language sql stable as $$
  select jsonb_build_object('state', j.state, 'attempt', j.attempt, 'max_attempts', j.max_attempts,
                            'eligible_at', j.eligible_at, 'worker', j.worker)
    from cronledger.jobs j where j.id = p_job_id
$$;

create function cronledger.refuse_job(p_job_id bigint, p_action text) returns void
language plpgsql as $$
declare
  found_state text;
begin
  select j.state into found_state from cronledger.jobs j where j.id = p_job_id;
  if found_state is null then
    raise exception 'there is no job %', p_job_id using errcode = 'no_data_found';
  end if;
  raise exception 'job % is %, so it cannot be %', p_job_id, found_state, p_action
    using errcode = 'object_not_in_prerequisite_state';
end $$;

create function cronledger.audit_job(p_actor text, p_reason text, p_action text, p_job_id bigint,
                                     p_before jsonb) returns void
language sql as $$
  insert into cronledger.audit (actor, reason, action, subject, detail)
  select p_actor, p_reason, p_action, j.key,
         jsonb_build_object('job_id', p_job_id, 'before', p_before,
                            'after', cronledger.standing_of(p_job_id))
    from cronledger.job j where j.id = p_job_id
$$;

-- Cancel: a job that waits ends now ('cancelled'); one that is leased is asked to end
-- ('cancel_requested'): its worker hears it with the next extension, and whatever ends the attempt
-- but completion then ends the job.
create function cronledger.cancel(p_job_id bigint, p_actor text, p_reason text) returns text
language plpgsql as $$
declare
  before jsonb := cronledger.standing_of(p_job_id);
  waiting cronledger.ready;
  answer text;
begin
  -- A job may move between two looks, but not for ever.
  for turn in 1..5 loop
    delete from cronledger.ready r where r.job_id = p_job_id returning r.* into waiting;
    if not found then
      delete from cronledger.deferred d where d.job_id = p_job_id
      returning d.job_id, d.eligible_at, d.due_at, d.queue_id, d.for_schedule, d.first_claimed_at,
                d.priority, d.attempt, d.max_attempts, d.releases, d.expiries, d.schema_version,
                d.kind, d.ordering_key, d.tenant, d.schedule_id, d.deliver_by into waiting;
    end if;
    if found then
      insert into cronledger.outcome (job_id, first_claimed_at, finished_at, queue_id, attempt, state)
      values (p_job_id, waiting.first_claimed_at, cronledger.now(), waiting.queue_id,
              waiting.attempt, 'cancelled');
      perform cronledger.count_end(waiting.queue_id, waiting.kind, waiting.attempt, 'cancelled',
                                   waiting.schedule_id);
      perform cronledger.settle_chunks(array[p_job_id], 'cancelled');
      answer := 'cancelled';
      exit;
    end if;
    update cronledger.lease l set cancel_requested_at = coalesce(l.cancel_requested_at, cronledger.now())
     where l.job_id = p_job_id;
    if found then
      answer := 'cancel_requested';
      exit;
    end if;
    exit when exists (select from cronledger.outcome o where o.job_id = p_job_id);
  end loop;
  if answer is null and exists (select from cronledger.outcome o
                                 where o.job_id = p_job_id and o.state = 'cancelled') then
    return 'cancelled';
  elsif answer is null then
    perform cronledger.refuse_job(p_job_id, 'cancelled');
  end if;
  perform cronledger.audit_job(p_actor, p_reason, 'cancel', p_job_id, before);
  return answer;
end $$;

-- `overlap: cancel_other`: what a schedule has not finished gives way to what is due.
create function cronledger.cancel_unfinished(p_schedule_id int) returns void
language plpgsql as $$
declare
  id bigint;
begin
  for id in
    select j.id
      from (select job_id from cronledger.ready
             union all select job_id from cronledger.deferred
             union all select job_id from cronledger.lease where cancel_requested_at is null) a
      join cronledger.job j on j.id = a.job_id
     where j.schedule_id = p_schedule_id
     order by j.id
  loop
    begin
      perform cronledger.cancel(id, 'cronledger', 'overlap: cancel_other, a later run is due');
    exception when object_not_in_prerequisite_state then
      continue;  -- it finished meanwhile, so there is nothing left to cancel
    end;
  end loop;
end $$;

-- A job that waits for a later time (scheduled, retrying) becomes eligible now.
create function cronledger.retry_now(p_job_id bigint, p_actor text, p_reason text) returns text
language plpgsql as $$
declare
  before jsonb := cronledger.standing_of(p_job_id);
begin
  if exists (select from cronledger.ready r where r.job_id = p_job_id) then
    return 'eligible';
  end if;
  with waiting as (
    delete from cronledger.deferred d where d.job_id = p_job_id returning d.*)
  insert into cronledger.ready
         (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, releases,
          expiries, kind, schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at,
          for_schedule)
  select job_id, least(eligible_at, cronledger.now()), first_claimed_at, queue_id, priority, attempt,
         max_attempts, releases, expiries, kind, schema_version, ordering_key, tenant, schedule_id,
         deliver_by, due_at, for_schedule
    from waiting;
  if not found then
    perform cronledger.refuse_job(p_job_id, 'retried now');
  end if;
  perform cronledger.wake(j.queue_id) from cronledger.job j where j.id = p_job_id;
  perform cronledger.audit_job(p_actor, p_reason, 'retry', p_job_id, before);
  return 'eligible';
end $$;

-- Take a lease from its worker: the token dies, the attempt is not charged, the job waits again.
create function cronledger.take_back(p_job_id bigint, p_actor text, p_reason text) returns text
language plpgsql as $$
declare
  before jsonb := cronledger.standing_of(p_job_id);
  held cronledger.lease;
begin
  delete from cronledger.lease l where l.job_id = p_job_id returning l.* into held;
  if not found then
    perform cronledger.refuse_job(p_job_id, 'released');
  end if;
  if held.cancel_requested_at is not null then
    perform cronledger.after_failure(held, 'released', 'taken back by ' || p_actor, true, null);
  else
    perform cronledger.put_back(held);
    perform cronledger.wake(held.queue_id);
  end if;
  perform cronledger.audit_job(p_actor, p_reason, 'release', p_job_id, before);
  return (cronledger.standing_of(p_job_id)) ->> 'state';
end $$;

-- Let a lease last longer by p_by from now, for a worker that cannot extend it itself.
create function cronledger.prolong(p_job_id bigint, p_by interval, p_actor text, p_reason text)
returns timestamptz language plpgsql as $$
declare
  before jsonb := cronledger.standing_of(p_job_id);
  until timestamptz;
begin
  update cronledger.lease l set expires_at = greatest(l.expires_at, cronledger.now() + p_by)
   where l.job_id = p_job_id returning l.expires_at into until;
  if not found then
    perform cronledger.refuse_job(p_job_id, 'extended');
  end if;
  perform cronledger.audit_job(p_actor, p_reason, 'extend', p_job_id, before);
  return until;
end $$;

-- Bring a dead job to life: the same job under the same key and the same receipts. Its attempts are
-- counted on, and it may fail as often again as its queue allows. p_run_at: null is now.
create function cronledger.replay(p_job_id bigint, p_run_at timestamptz, p_actor text, p_reason text)
returns text language plpgsql as $$
declare
  before jsonb := cronledger.standing_of(p_job_id);
  ended cronledger.outcome;
  body cronledger.job;
  owed cronledger.schedule;                 -- whose occurrence it is, if it is one
  starts timestamptz := coalesce(p_run_at, cronledger.now());
begin
  delete from cronledger.dead d where d.job_id = p_job_id;
  if not found then
    -- Replayed by somebody else meanwhile: that is what was asked for.
    before := cronledger.standing_of(p_job_id);
    if before ->> 'state' in ('eligible', 'scheduled', 'retrying', 'leased')
       and (before ->> 'attempt')::int > 0 then
      return before ->> 'state';
    end if;
    perform cronledger.refuse_job(p_job_id, 'replayed');
  end if;
  delete from cronledger.outcome o where o.job_id = p_job_id returning o.* into strict ended;
  select j.* into strict body from cronledger.job j where j.id = p_job_id;
  select s.* into owed
    from cronledger.occurrence o join cronledger.schedule s on s.id = o.schedule_id
   where o.schedule_id = body.schedule_id and o.logical_time = body.logical_time
     and o.job_id = p_job_id;
  -- Deferred though it may be due: what was tried before and waits is a retry.
  insert into cronledger.deferred
         (job_id, eligible_at, first_claimed_at, queue_id, priority, attempt, max_attempts, kind,
          schema_version, ordering_key, tenant, schedule_id, deliver_by, due_at, for_schedule,
          error_class, error)
  values (p_job_id, starts, ended.first_claimed_at, ended.queue_id, body.priority, ended.attempt,
          least(ended.attempt + body.max_attempts, 32767), body.kind, body.schema_version,
          body.ordering_key, body.tenant, owed.id, body.logical_time + owed.objective,
          coalesce(body.logical_time, body.run_at), body.schedule_id, 'replayed',
          'replayed by ' || p_actor);
  if starts <= cronledger.now() then
    perform cronledger.wake(ended.queue_id);
  end if;
  perform cronledger.reopen_chunk(p_job_id);
  perform cronledger.audit_job(p_actor, p_reason, 'replay', p_job_id, before);
  return (cronledger.standing_of(p_job_id)) ->> 'state';
end $$;

-- A dead letter that nobody has to look at any more; it may still be replayed.
create function cronledger.discard(p_job_id bigint, p_actor text, p_reason text) returns text
language plpgsql as $$
declare
  before jsonb := cronledger.standing_of(p_job_id);
begin
  if exists (select from cronledger.dead d where d.job_id = p_job_id and d.discarded_at is not null)
  then
    return 'dead';
  end if;
  update cronledger.dead d set discarded_at = cronledger.now() where d.job_id = p_job_id;
  if not found then
    perform cronledger.refuse_job(p_job_id, 'discarded');
  end if;
  perform cronledger.audit_job(p_actor, p_reason, 'discard', p_job_id, before);
  return 'dead';
end $$;

-- Stop the claims of a queue until p_until, or until it is resumed; scheduling goes on. What is
-- leased runs on.
create function cronledger.pause_queue(p_queue text, p_until timestamptz, p_actor text, p_reason text)
returns void language plpgsql as $$
declare
  before cronledger.queue;
begin
  select q.* into before from cronledger.queue q where q.name = p_queue for update;
  if not found then
    raise exception 'there is no queue %', p_queue using errcode = 'no_data_found';
  end if;
  update cronledger.queue q
     set paused_at = coalesce(q.paused_at, cronledger.now()), paused_by = p_actor,
         pause_reason = p_reason, paused_until = p_until
   where q.id = before.id;
  insert into cronledger.audit (actor, reason, action, subject, detail)
  values (p_actor, p_reason, 'pause', p_queue, jsonb_build_object(
    'before', jsonb_build_object('paused_at', before.paused_at, 'until', before.paused_until),
    'after', jsonb_build_object('paused_at', coalesce(before.paused_at, cronledger.now()),
                                'until', p_until)));
end $$;

-- Let the claims of a queue go on. False if it was not paused.
create function cronledger.resume_queue(p_queue text, p_actor text, p_reason text) returns boolean
language plpgsql as $$
declare
  before cronledger.queue;
begin
  select q.* into before from cronledger.queue q where q.name = p_queue for update;
  if not found then
    raise exception 'there is no queue %', p_queue using errcode = 'no_data_found';
  end if;
  if before.paused_at is null then
    return false;
  end if;
  update cronledger.queue q
     set paused_at = null, paused_by = null, pause_reason = null, paused_until = null
   where q.id = before.id;
  perform cronledger.wake(before.id);
  insert into cronledger.audit (actor, reason, action, subject, detail)
  values (p_actor, p_reason, 'resume', p_queue, jsonb_build_object(
    'before', jsonb_build_object('paused_at', before.paused_at, 'paused_by', before.paused_by,
                                 'pause_reason', before.pause_reason, 'until', before.paused_until),
    'after', jsonb_build_object('paused_at', null)));
  return true;
end $$;
