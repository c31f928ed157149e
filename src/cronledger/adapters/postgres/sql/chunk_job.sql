-- The job of a chunk by its name, or of the follow-up of its set.
select c.id as job_id from cronledger.chunks c where c.set_id = %(id)s and c.name = %(name)s
 union all
select s.then_id from cronledger.chunk_sets s
 where s.id = %(id)s and %(name)s = 'then' and s.then_id is not null
