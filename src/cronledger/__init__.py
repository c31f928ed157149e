"""Public names: what handlers and programs around cronledger import.

They are loaded when first asked for, so that `cronledger --help` does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cronledger.core.instants import Window
    from cronledger.core.keys import OccurrenceKey
    from cronledger.core.schedule import Schedule
    from cronledger.worker.context import Cancelled, Discard, JobContext, Retry
    from cronledger.worker.handlers import Handlers

__all__ = [
    "Cancelled",
    "Discard",
    "Handlers",
    "JobContext",
    "OccurrenceKey",
    "Retry",
    "Schedule",
    "Window",
]

_HOMES = {
    "Cancelled": "cronledger.worker.context",
    "Discard": "cronledger.worker.context",
    "Handlers": "cronledger.worker.handlers",
    "JobContext": "cronledger.worker.context",
    "OccurrenceKey": "cronledger.core.keys",
    "Retry": "cronledger.worker.context",
    "Schedule": "cronledger.core.schedule",
    "Window": "cronledger.core.instants",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cronledger' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
