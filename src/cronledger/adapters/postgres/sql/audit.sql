-- Record a manual change beside the change itself.
insert into cronledger.audit (actor, reason, action, subject, detail)
values (%(actor)s, %(reason)s, %(action)s, %(subject)s, %(detail)s::jsonb)
