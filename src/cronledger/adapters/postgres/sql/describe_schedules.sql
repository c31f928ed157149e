-- Make the schedules that are known what the file says. One that is as it should be is not written.
update cronledger.schedule s
   set class = u.class, objective = u.objective
  from unnest(%(names)s::text[], %(classes)s::text[], %(objectives)s::interval[])
       as u(name, class, objective)
 where s.name = u.name and (s.class, s.objective) is distinct from (u.class, u.objective)
