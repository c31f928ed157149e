"""What is done with the core and the ports: tick, reconcile, backfill, measure."""
