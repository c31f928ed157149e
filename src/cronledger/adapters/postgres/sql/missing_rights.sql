-- What a role of ours may call and this login may not.
select p.oid::regprocedure::text as routine
  from cronledger.role_right r
  join pg_proc p on p.proname = r.routine and p.pronamespace = 'cronledger'::regnamespace
 where r.role = %(role)s and not has_function_privilege(p.oid, 'execute')
 order by 1
