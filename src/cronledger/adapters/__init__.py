"""Implementations of the ports. Only wiring imports them."""
