-- Make every schedule of the file known; nothing before this moment is owed.
insert into cronledger.schedule (name, loaded_at, decided_to)
select u.name, %(at)s, %(at)s from unnest(%(names)s::text[]) as u(name)
 where not exists (select from cronledger.schedule s where s.name = u.name)
 order by u.name
    on conflict (name) do nothing
