-- The rules of clocks, each as one release of the zone data had them.
select z.name, z.tzdata, z.transitions, z.offsets
  from cronledger.zone z
  join unnest(%(names)s::text[], %(tzdata)s::text[]) as u(name, tzdata)
    on u.name = z.name and u.tzdata = z.tzdata
