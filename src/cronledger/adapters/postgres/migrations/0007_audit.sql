-- Who changed what by hand, when and why; written in the transaction of the change.
create table cronledger.audit (
  id           bigint generated always as identity primary key,
  at           timestamptz not null default cronledger.now(),
  actor        text not null check (btrim(actor) <> ''),
  login        text not null default session_user,   -- whom the database knows; not claimed
  reason       text not null check (length(btrim(reason)) >= 8),
  action       text not null,
  subject      text not null,
  detail       jsonb not null
);
create index audit_at on cronledger.audit (at);
