"""Runs handlers under leases; what a handler's author imports stands here."""

from __future__ import annotations

from cronledger.worker.context import JobContext
from cronledger.worker.handlers import Handlers
from cronledger.worker.signals import (
    Cancelled,
    ChunkConflict,
    Discard,
    EffectConflict,
    EffectInDoubt,
    Retry,
)

__all__ = [
    "Cancelled",
    "ChunkConflict",
    "Discard",
    "EffectConflict",
    "EffectInDoubt",
    "Handlers",
    "JobContext",
    "Retry",
]
