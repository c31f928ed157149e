-- Keep on occurrences how their jobs ended.
select cronledger.note_final(%(first)s, %(end)s, %(limit)s) as n
