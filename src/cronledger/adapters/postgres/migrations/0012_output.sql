-- What a command wrote while it ran, of its latest attempt: the last part, for whoever looks.

create table cronledger.output (
  job_id      bigint primary key,
  attempt     int not null,
  exit_status int not null,                 -- negative: the signal that ended it
  written_at  timestamptz not null,
  text        text not null check (octet_length(text) <= 65536)
);

-- Keep the output of an attempt, under its lease. False if the lease is someone else's now.
create function cronledger.keep_output(p_job_id bigint, p_token bigint, p_exit_status int, p_text text)
returns boolean language sql as $$
  with held as (
    select l.attempt from cronledger.lease l where l.job_id = p_job_id and l.token = p_token),
  kept as (
    insert into cronledger.output (job_id, attempt, exit_status, written_at, text)
    select p_job_id, h.attempt, p_exit_status, cronledger.now(), p_text from held h
    on conflict (job_id) do update
       set attempt = excluded.attempt, exit_status = excluded.exit_status,
           written_at = excluded.written_at, text = excluded.text
    returning 1)
  select exists (select from kept)
$$;
