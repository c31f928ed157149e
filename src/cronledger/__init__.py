"""Public names: what handlers and programs around cronledger import.

They are loaded when first asked for, so that `cronledger --help` does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cronledger.adapters.postgres.produce import enqueue_once
    from cronledger.core.chunks import FollowUp
    from cronledger.core.instants import Window
    from cronledger.core.keys import OccurrenceKey
    from cronledger.core.schedule import JobSpec, Schedule
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
    "FollowUp",
    "Handlers",
    "JobContext",
    "JobSpec",
    "OccurrenceKey",
    "Retry",
    "Schedule",
    "Window",
    "enqueue_once",
]

_HOMES = {
    "Cancelled": "cronledger.worker.signals",
    "ChunkConflict": "cronledger.worker.signals",
    "Discard": "cronledger.worker.signals",
    "EffectConflict": "cronledger.worker.signals",
    "EffectInDoubt": "cronledger.worker.signals",
    "FollowUp": "cronledger.core.chunks",
    "Handlers": "cronledger.worker.handlers",
    "JobContext": "cronledger.worker.context",
    "OccurrenceKey": "cronledger.core.keys",
    "Retry": "cronledger.worker.signals",
    "JobSpec": "cronledger.core.schedule",
    "Schedule": "cronledger.core.schedule",
    "Window": "cronledger.core.instants",
    "enqueue_once": "cronledger.adapters.postgres.produce",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cronledger' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
