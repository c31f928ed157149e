-- Who measures. Of the sidecars over one ledger one leads: it compares and measures, and the others
-- show what it kept. Nothing but that depends on who leads: a key is enqueued once because of its key.

create table cronledger.leader (
  only_one       boolean primary key default true check (only_one),
  holder         text not null check (octet_length(holder) between 1 and 200),
  ends_at        timestamptz not null,
  -- Until then somebody reads what the leader keeps; for nobody it keeps nothing.
  followed_until timestamptz not null default '-infinity'
) with (fillfactor = 50);

create table cronledger.reading (
  only_one boolean primary key default true check (only_one),
  taken_at timestamptz not null,
  body     text not null
);

-- Lead for p_span from now on, if nobody else does. `followed`: somebody reads what is kept. Whoever
-- leads says it again well before the end; whoever does not says by its call that it follows.
create function cronledger.lead(p_holder text, p_span interval, out leads boolean, out followed boolean)
language plpgsql as $$
begin
  update cronledger.leader l
     set holder = p_holder, ends_at = cronledger.now() + p_span
   where l.holder = p_holder or l.ends_at <= cronledger.now()
  returning true, l.followed_until > cronledger.now() into leads, followed;
  if found then
    return;
  end if;
  insert into cronledger.leader (holder, ends_at) values (p_holder, cronledger.now() + p_span)
  on conflict do nothing;
  leads := found;
  followed := false;
  if not leads then
    update cronledger.leader l set followed_until = cronledger.now() + p_span * 2
     where l.followed_until < cronledger.now() + p_span;
  end if;
end $$;

-- Lead no more, so that nobody has to wait for the end.
create function cronledger.resign(p_holder text) returns void
language sql as $$
  update cronledger.leader set ends_at = cronledger.now() where holder = p_holder
$$;

-- Keep what the leader measured; nothing if another leads now, or has measured later.
create function cronledger.keep_reading(p_holder text, p_taken_at timestamptz, p_body text) returns boolean
language plpgsql as $$
begin
  insert into cronledger.reading as r (taken_at, body)
  select p_taken_at, p_body from cronledger.leader l
   where l.holder = p_holder and l.ends_at > cronledger.now()
  on conflict (only_one) do update set taken_at = excluded.taken_at, body = excluded.body
   where r.taken_at < excluded.taken_at;
  return found;
end $$;

revoke all on function cronledger.lead(text, interval), cronledger.resign(text),
                       cronledger.keep_reading(text, timestamptz, text) from public;
