"""Runs handlers under leases; what a handler's author imports stands here."""

from __future__ import annotations

from cronledger.worker.context import Cancelled, Discard, JobContext, Retry
from cronledger.worker.handlers import Handlers

__all__ = ["Cancelled", "Discard", "Handlers", "JobContext", "Retry"]
