-- The newest job that has this key. Reads the days from the newest on until it is found: nothing but
-- people look for a key that no occurrence has.
select j.id as job_id from cronledger.job j where j.key = %(key)s order by j.id desc limit 1
