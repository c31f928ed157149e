-- Who may do what. Everything is written through functions that run with the rights of their owner, on a
-- fixed search path; a role is what it may call and what it may read. `cronledger export roles` makes the
-- roles and grants by this table.

create table cronledger.role_right (
  role    text not null check (role in ('enqueue', 'worker', 'operator')),
  routine text not null,
  primary key (role, routine)
);
insert into cronledger.role_right (role, routine)
select 'enqueue', unnest('{enqueue_once, record_external}'::text[])
union all
select 'worker', unnest('{claim, claim_nowait, listen, extend, complete, fail, release, rescue, effect_begin,
                          effect_commit, keep_output}'::text[])
union all
select 'operator', unnest('{cancel, retry_now, take_back, prolong, replay, discard, pause_queue,
                            resume_queue, effect_resolve}'::text[]);

-- Append-only for its owner, too.
create function cronledger.refuse_rewriting() returns trigger
language plpgsql as $$
begin
  raise exception 'the audit is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_append_only before update or delete or truncate on cronledger.audit
  for each statement execute function cronledger.refuse_rewriting();

do $$
declare
  routine regprocedure;
begin
  -- Functions are everybody's when they are made.
  revoke all on all functions in schema cronledger from public;
  for routine in
    select p.oid from pg_proc p
     where p.pronamespace = 'cronledger'::regnamespace
       and p.proname in (select r.routine from cronledger.role_right r)
  loop
    execute format('alter function %s security definer set search_path = pg_catalog, pg_temp', routine);
  end loop;
end $$;
