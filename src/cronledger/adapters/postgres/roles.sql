-- The roles of cronledger, and what each may do. Run it as the owner of the schema `cronledger`, who may
-- create roles; again after each `cronledger migrate`. Grant them to your logins:
--   grant cronledger_worker to billing_app;
-- The sidecar and `cronledger migrate` work as the owner itself.

do $$
declare
  role text;
  routine regprocedure;
begin
  foreach role in array '{enqueue, worker, operator, observer}'::text[] loop
    begin
      execute format('create role %I nologin', 'cronledger_' || role);
    exception when duplicate_object or unique_violation then
      null;  -- roles belong to the whole server; another database has made it
    end;
    execute format('grant usage on schema cronledger to %I', 'cronledger_' || role);
    execute format('grant select on cronledger.migration, cronledger.role_right to %I',
                   'cronledger_' || role);
  end loop;
  for role, routine in
    select r.role, p.oid
      from cronledger.role_right r
      join pg_proc p on p.proname = r.routine and p.pronamespace = 'cronledger'::regnamespace
  loop
    execute format('grant execute on function %s to %I', routine, 'cronledger_' || role);
  end loop;
end $$;

-- An observer reads what happened, and no payload, result or output.
grant execute on function cronledger.now to cronledger_observer;
grant select on cronledger.jobs, cronledger.occurrences, cronledger.occurrence, cronledger.schedule,
  cronledger.schedule_version, cronledger.zone, cronledger.left_out, cronledger.ledger,
  cronledger.queue, cronledger.ready, cronledger.deferred, cronledger.lease, cronledger.outcome,
  cronledger.dead, cronledger.audit, cronledger.stat, cronledger.stat_delta, cronledger.success,
  cronledger.success_delta, cronledger.retry_window, cronledger.chunk_sets, cronledger.chunks,
  cronledger.history, cronledger.leader, cronledger.newest, cronledger.newest_delta
  to cronledger_observer;
grant select (id, logical_time, run_at, created_at, queue_id, schedule_id, max_attempts, priority,
              timeout, key, kind, schema_version, ordering_key, tenant)
  on cronledger.job to cronledger_observer;

-- An operator sees these as well, and may act.
grant cronledger_observer to cronledger_operator;
grant select on cronledger.effect, cronledger.output to cronledger_operator;
