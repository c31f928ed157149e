-- When a reconcile over every schedule last completed, on any replica.
select reconciled_at from cronledger.ledger
