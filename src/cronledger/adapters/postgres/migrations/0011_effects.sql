-- Effect receipts: an outside effect of a job is written down before it is tried and after it has
-- happened, under the key of the job. So another attempt, a replay, or the next worker knows.

create table cronledger.effect (
  scope           text not null,            -- the key of the job
  name            text not null check (octet_length(name) between 1 and 200),
  generation      int not null default 1,   -- counts on when an operator says that it never happened
  state           text not null check (state in ('started', 'committed', 'void')),
  fingerprint     text not null,            -- of the inputs: the same effect means the same inputs
  result          jsonb,
  provider_window interval check (provider_window > '0'),
  job_id          bigint not null,
  attempt         int not null,
  token           bigint not null,
  started_at      timestamptz not null,
  committed_at    timestamptz,
  primary key (scope, name),
  check ((state = 'committed') = (committed_at is not null))
);
create index effect_age on cronledger.effect using brin (started_at);

-- What a provider deduplicates by: the same for every attempt and every replay.
create function cronledger.idempotency_key(p_scope text, p_name text, p_generation int) returns text
language sql immutable as $$
  select encode(sha256(convert_to(p_scope || E'\x1f' || p_name || E'\x1f' || p_generation, 'UTF8')),
                'hex')
$$;

-- Begin an effect under a lease. The decision:
--   run         nobody has begun it: do it, with the key, and commit
--   resume      an earlier attempt began it and did not commit: do it again with the same key, which
--               the provider deduplicates
--   done        it has happened: take the result
--   conflict    it was begun with other inputs
--   in_doubt    it was begun, not committed, and the provider has forgotten the key: a human decides
--   lease_lost  the lease is someone else's now: do nothing
create function cronledger.effect_begin(p_job_id bigint, p_token bigint, p_name text,
                                        p_fingerprint text, p_window interval)
returns table (decision text, idempotency_key text, result jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
  held cronledger.lease;
  known cronledger.effect;
  job_key text;
begin
  -- Held until this transaction ends, so that nobody can take the lease in between.
  select l.* into held from cronledger.lease l
   where l.job_id = p_job_id and l.token = p_token and l.expires_at > cronledger.now() for key share;
  if not found then
    return query select 'lease_lost', null::text, null::jsonb;
    return;
  end if;
  select j.key into strict job_key from cronledger.job j where j.id = p_job_id;
  insert into cronledger.effect (scope, name, state, fingerprint, provider_window, job_id, attempt,
                                 token, started_at)
  values (job_key, p_name, 'started', p_fingerprint, p_window, p_job_id, held.attempt, p_token,
          cronledger.now())
  on conflict do nothing;
  if found then
    return query select 'run', cronledger.idempotency_key(job_key, p_name, 1), null::jsonb;
    return;
  end if;
  select e.* into strict known from cronledger.effect e
   where e.scope = job_key and e.name = p_name for update;
  if known.state = 'void' then
    update cronledger.effect e
       set state = 'started', fingerprint = p_fingerprint, provider_window = p_window,
           job_id = p_job_id, attempt = held.attempt, token = p_token, started_at = cronledger.now()
     where e.scope = known.scope and e.name = known.name;
    return query select 'run', cronledger.idempotency_key(known.scope, known.name, known.generation),
                        null::jsonb;
  elsif known.fingerprint <> p_fingerprint then
    return query select 'conflict', null::text, null::jsonb;
  elsif known.state = 'committed' then
    return query select 'done', null::text, known.result;
  elsif known.provider_window is not null
        and known.started_at + known.provider_window <= cronledger.now() then
    return query select 'in_doubt', null::text, null::jsonb;
  else
    update cronledger.effect e set job_id = p_job_id, attempt = held.attempt, token = p_token
     where e.scope = known.scope and e.name = known.name;
    return query select 'resume',
                        cronledger.idempotency_key(known.scope, known.name, known.generation),
                        null::jsonb;
  end if;
end $$;

-- The effect has happened; its result is kept. False if the lease is someone else's now: then the
-- attempt must not go on.
create function cronledger.effect_commit(p_job_id bigint, p_token bigint, p_name text, p_result jsonb)
returns boolean language plpgsql as $$
begin
  perform from cronledger.lease l where l.job_id = p_job_id and l.token = p_token for key share;
  if not found then
    return false;
  end if;
  update cronledger.effect e
     set state = 'committed', result = p_result, committed_at = cronledger.now()
    from cronledger.job j
   where j.id = p_job_id and e.scope = j.key and e.name = p_name and e.token = p_token
     and e.state = 'started';
  return found;
end $$;

-- A human says what became of an effect that was begun and not committed: it has happened, with this
-- result, or it never did (then the next attempt does it under a new key).
create function cronledger.effect_resolve(p_scope text, p_name text, p_happened boolean,
                                          p_result jsonb, p_actor text, p_reason text) returns text
language plpgsql as $$
declare
  known cronledger.effect;
begin
  select e.* into known from cronledger.effect e
   where e.scope = p_scope and e.name = p_name for update;
  if not found then
    raise exception 'there is no effect % of %', p_name, p_scope using errcode = 'no_data_found';
  end if;
  if known.state <> 'started' then
    raise exception 'effect % of % is %, so there is nothing to decide', p_name, p_scope, known.state
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  update cronledger.effect e
     set state = case when p_happened then 'committed' else 'void' end,
         result = case when p_happened then p_result end,
         committed_at = case when p_happened then cronledger.now() end,
         generation = e.generation + (not p_happened)::int
   where e.scope = p_scope and e.name = p_name;
  insert into cronledger.audit (actor, reason, action, subject, detail)
  values (p_actor, p_reason, 'resolve', p_scope, jsonb_build_object(
    'effect', p_name, 'happened', p_happened, 'before', jsonb_build_object('state', known.state),
    'after', jsonb_build_object('state', case when p_happened then 'committed' else 'void' end)));
  return case when p_happened then 'committed' else 'void' end;
end $$;

-- Forget receipts that were committed before p_before. Their jobs must not be replayed any more.
create function cronledger.effect_purge(p_before timestamptz, p_limit int) returns int
language sql as $$
  with gone as (
    delete from cronledger.effect e where (e.scope, e.name) in (
      select o.scope, o.name from cronledger.effect o
       where o.state = 'committed' and o.committed_at < p_before limit p_limit)
    returning 1)
  select count(*)::int from gone
$$;
