-- The instant of this reading. One that takes longer than this is given up, and the next tries again;
-- what it reads is in memory and small, so neither compiling nor a second process pays.
select cronledger.now() as now, set_config('statement_timeout', '5s', true),
       set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
       set_config('work_mem', '16MB', true)
