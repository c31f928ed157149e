-- Make the queues what the file says. A queue that is as it should be is not written.
insert into cronledger.queue as q
       (name, objective, lease, max_attempts, timeout, backoff_base, backoff_cap,
        retry_budget, budget_mode, tenant_limit)
select * from unnest(%(names)s::text[], %(objectives)s::interval[], %(leases)s::interval[],
                     %(max_attempts)s::int[], %(timeouts)s::interval[],
                     %(backoff_bases)s::interval[], %(backoff_caps)s::interval[],
                     %(retry_budgets)s::int[], %(budget_modes)s::text[],
                     %(tenant_limits)s::int[])
 order by 1
    on conflict (name) do update
   set objective = excluded.objective, lease = excluded.lease,
       max_attempts = excluded.max_attempts, timeout = excluded.timeout,
       backoff_base = excluded.backoff_base, backoff_cap = excluded.backoff_cap,
       retry_budget = excluded.retry_budget, budget_mode = excluded.budget_mode,
       tenant_limit = excluded.tenant_limit
 where (q.objective, q.lease, q.max_attempts, q.timeout, q.backoff_base, q.backoff_cap,
        q.retry_budget, q.budget_mode, q.tenant_limit)
       is distinct from (excluded.objective, excluded.lease, excluded.max_attempts,
                         excluded.timeout, excluded.backoff_base, excluded.backoff_cap,
                         excluded.retry_budget, excluded.budget_mode,
                         excluded.tenant_limit)
