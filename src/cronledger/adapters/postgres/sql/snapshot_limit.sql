-- A reading that takes longer than this is given up; the next one tries again.
set local statement_timeout = '5s'
