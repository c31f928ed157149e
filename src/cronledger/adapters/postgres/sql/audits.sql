-- Manual changes, the newest first.
select id, at, actor, login, reason, action, subject, detail
  from cronledger.audit
 where (%(subject)s::text is null or subject = %(subject)s)
   and (%(action)s::text is null or action = %(action)s)
   and (%(actor)s::text is null or actor = %(actor)s)
 order by id desc limit %(limit)s
