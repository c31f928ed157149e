"""Handlers that run within something of each attempt, such as its span."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import cast

from cronledger.worker.context import JobContext
from cronledger.worker.handlers import Handler, is_async, refuse_unusable

Within = Callable[[JobContext], AbstractContextManager[None]]


def within_each(handlers: Mapping[str, Handler], within: Within) -> dict[str, Handler]:
    """The handlers, each run `within` its attempt. Raises ConfigError for one that cannot run."""
    for kind, handler in handlers.items():
        refuse_unusable(kind, handler)  # behind the wrapper nobody could see what it is
    return {kind: _wrapped(handler, within) for kind, handler in handlers.items()}


def _wrapped(handler: Handler, within: Within) -> Handler:
    @wraps(handler, updated=())
    def run(job: JobContext) -> object:
        with within(job):
            return handler(job)

    @wraps(handler, updated=())
    async def run_async(job: JobContext) -> None:
        with within(job):
            await cast(Awaitable[object], handler(job))

    return run_async if is_async(handler) else run
