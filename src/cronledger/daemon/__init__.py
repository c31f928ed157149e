"""The sidecar: loops that tick, reconcile and measure, until a signal ends them."""
