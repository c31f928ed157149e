"""What the flows and the worker need from the world: small protocols, implemented by adapters."""

from cronledger.ports.chunks import ChunkSets, Splits
from cronledger.ports.ledger import (
    Audited,
    Decision,
    Enqueue,
    Enqueuer,
    Lead,
    Ledger,
    Measured,
    Noted,
    Noting,
    Prune,
    Recorded,
    Span,
    Unfinished,
    Versions,
    Zones,
)
from cronledger.ports.process import Clock, Observe, Within, untraced
from cronledger.ports.queue import Chosen, Controls, Effects, Jobs, LeasedQueue, Outputs

__all__ = [
    "Audited",
    "Chosen",
    "ChunkSets",
    "Clock",
    "Controls",
    "Decision",
    "Effects",
    "Enqueue",
    "Enqueuer",
    "Jobs",
    "Lead",
    "LeasedQueue",
    "Ledger",
    "Measured",
    "Noted",
    "Noting",
    "Observe",
    "Outputs",
    "Prune",
    "Recorded",
    "Span",
    "Splits",
    "Unfinished",
    "Versions",
    "Within",
    "Zones",
    "untraced",
]
