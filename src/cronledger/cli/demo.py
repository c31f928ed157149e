"""`demo`: watch the loop work."""

from __future__ import annotations


def demo() -> None:
    """Watch the loop work: embedded PostgreSQL, sidecar, worker, a hole, and its repair."""
    from cronledger.cli.demo_play import play

    play()
