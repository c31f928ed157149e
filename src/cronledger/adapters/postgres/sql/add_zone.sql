-- Keep the rules of one clock.
insert into cronledger.zone (name, tzdata, transitions, offsets)
values (%(name)s, %(tzdata)s, %(transitions)s::bigint[], %(offsets)s::int[])
    on conflict do nothing
