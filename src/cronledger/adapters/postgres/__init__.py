"""The ledger and the queue in PostgreSQL."""
