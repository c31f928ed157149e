-- How many chunks of a set are in which state, and since when the oldest of them is there to run.
select c.state, count(*)::int as count, min(coalesce(c.eligible_at, c.run_at)) as oldest
  from cronledger.chunks c where c.set_id = %(id)s group by c.state order by c.state
