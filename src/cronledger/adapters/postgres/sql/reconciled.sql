-- A reconcile over every schedule has just completed.
update cronledger.ledger set reconciled_at = cronledger.now()
