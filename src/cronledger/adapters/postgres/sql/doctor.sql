-- What is wrong with the ledger's database, worst first. Reads what is active, and statistics.
with hot as (
  select c.oid, c.relname, coalesce(c.reloptions, '{}') as options, s.n_live_tup, s.n_dead_tup
    from pg_class c join pg_stat_all_tables s on s.relid = c.oid
   where c.relnamespace = 'cronledger'::regnamespace and c.relname in ('ready', 'deferred', 'lease'))
select 'lease_expired' as finding, l.job_id::text as subject,
       format('%%s of worker %%s: its lease ended %%s ago and nobody takes it back (a worker '
              'or the sidecar would)', l.kind, l.worker, date_trunc('second', cronledger.now() - l.expires_at))
         as detail
  from cronledger.lease l where l.expires_at < cronledger.now() - interval '30 s'
union all
select 'never_claimed', q.name,
       format('%%s jobs of kind %%s, version %%s, have waited up to %%s, so no worker may know them',
              count(*), r.kind, r.schema_version,
              date_trunc('second', cronledger.now() - min(r.eligible_at)))
  from cronledger.ready r join cronledger.queue q on q.id = r.queue_id
 where r.eligible_at < cronledger.now() - q.objective
   and not (q.paused_at is not null and coalesce(q.paused_until > cronledger.now(), true))
   and not exists (select from cronledger.lease l
                    where l.kind = r.kind and l.schema_version = r.schema_version)
 group by q.name, r.kind, r.schema_version
union all
select 'queue_paused', q.name,
       format('by %%s since %%s (%%s), until `queue resume %%s`', q.paused_by,
              to_char(q.paused_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), q.pause_reason,
              q.name)
  from cronledger.queue q where q.paused_at is not null and q.paused_until is null
union all
select 'long_transaction', 'pid ' || a.pid,
       format('%%s of %%s, %%s old: no dead row is removed while it lasts', coalesce(nullif(
              a.application_name, ''), 'a session'), a.usename,
              date_trunc('second', clock_timestamp() - a.xact_start))
  from pg_stat_activity a
 where (a.backend_xmin is not null or a.backend_xid is not null)
   and a.xact_start < clock_timestamp() - interval '10 min' and a.pid <> pg_backend_pid()
union all
select 'prepared_transaction', p.gid,
       format('%%s old: no dead row is removed until it is committed or rolled back',
              date_trunc('second', clock_timestamp() - p.prepared))
  from pg_prepared_xacts p where p.prepared < clock_timestamp() - interval '10 min'
union all
select 'replication_slot', s.slot_name,
       format('is not active and holds back %%s transactions of dead rows (drop it if nobody needs it)',
              age(coalesce(s.xmin, s.catalog_xmin)))
  from pg_replication_slots s
 where not s.active and coalesce(s.xmin, s.catalog_xmin) is not null
union all
select 'vacuum_settings', h.relname,
       'has lost its own autovacuum settings: `alter table cronledger.' || h.relname
         || ' set (autovacuum_vacuum_scale_factor = 0.01)` brings them back'
  from hot h
 where h.relname <> 'deferred'
   and not exists (select from unnest(h.options) o where o like 'autovacuum\_vacuum\_scale\_factor=%%')
union all
select 'vacuum_off', 'autovacuum', 'is off on this server, and the hot tables grow without it'
 where current_setting('autovacuum') = 'off'
union all
select 'dead_rows', h.relname,
       format('%%s dead rows beside %%s live ones: vacuum does not keep up', h.n_dead_tup, h.n_live_tup)
  from hot h where h.n_dead_tup > 200000 and h.n_dead_tup > 10 * h.n_live_tup
union all
select 'no_day_ahead', to_char((cronledger.now() + interval '1 day') at time zone 'UTC', 'YYYY-MM-DD'),
       'the jobs of tomorrow have no tables (a sidecar or a daily `prune` makes them)'
 where to_regclass('cronledger.job_' || to_char((cronledger.now() + interval '1 day')
                                                 at time zone 'UTC', 'YYMMDD')) is null
union all
select 'no_reconcile', 'ledger',
       format('the last reconcile of every schedule was %%s ago, so no sidecar may run',
              date_trunc('second', cronledger.now() - l.reconciled_at))
  from cronledger.ledger l where l.reconciled_at < cronledger.now() - interval '15 min'
