-- Keep on occurrences how their jobs ended; the last job looked at, null if there was none.
select cronledger.note_final(%(after)s, %(end)s, %(limit)s) as last
