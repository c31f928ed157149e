-- The database's clock, as tests have it: where the setting stands, it stands still there.
create or replace function cronledger.now() returns timestamptz
language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('cronledger.test_now', true), '')::timestamptz,
                  statement_timestamp())
$$;
