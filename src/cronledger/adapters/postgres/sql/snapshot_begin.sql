-- One consistent reading that changes nothing and cannot run away.
set transaction isolation level repeatable read read only
