"""The two processes that stay, put together: the sidecar and the worker."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cronledger.wiring import Store, clock, load_file, version, zones

if TYPE_CHECKING:
    from cronledger.daemon.sidecar import Sidecar
    from cronledger.http import Server
    from cronledger.ports import Observe
    from cronledger.worker.handlers import Handler
    from cronledger.worker.pool import Worker


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a sidecar runs."""

    host: str
    port: int
    reconcile_every: timedelta
    measure_every: timedelta
    lookback: timedelta
    replace: bool = False


def sidecar(
    path: Path, database: Store, options: RunOptions, observe: Observe
) -> tuple[Sidecar, Server]:
    """A sidecar over the file, and the server of its endpoints. Raises ConfigError."""
    from cronledger.adapters.observe.metrics import Renderer
    from cronledger.adapters.postgres.queue import PostgresQueue
    from cronledger.adapters.postgres.snapshot import PostgresMeasured
    from cronledger.daemon.board import Board
    from cronledger.daemon.passes import Measurer, Pruner, Reconciler, Ticker, Tools
    from cronledger.daemon.sidecar import Passes, Sidecar
    from cronledger.http import Answers, Server

    zone_data, time = zones(), clock()
    file = load_file(path, zone_data)
    board = Board(file, version(), zone_data.version, options.reconcile_every, time.now())
    heard = _both(board.observe, observe)

    def tools() -> Tools:
        return Tools(database.ledger(), zone_data, heard, time)

    session = database.session()
    measured, queue = PostgresMeasured(session), PostgresQueue(session)
    passes = Passes(
        Ticker(board, tools(), replace=options.replace),
        Reconciler(board, tools(), options.lookback),
        Measurer(board, tools(), measured, queue, Renderer().render, options.measure_every),
        Pruner(database.prune(), heard),
    )
    made = Sidecar(
        board, passes, lambda: load_file(path, zone_data), time, heard, options.measure_every
    )
    answers = Answers(made.exposition, made.why_not_healthy, made.why_not_ready, version())
    return made, Server(answers, host=options.host, port=options.port)


@dataclass(frozen=True, slots=True)
class WorkOptions:
    """How a worker runs. `queues` in the order in which they are claimed; `app` names the handlers,
    and with `commands` jobs that are commands are run as well."""

    app: str | None
    commands: bool
    queues: Sequence[str]
    concurrency: int
    poll: timedelta


def worker(options: WorkOptions, database: Store, observe: Observe) -> Worker:
    """A worker with the handlers that `options.app` names. Raises ConfigError."""
    from cronledger.adapters.plugins import load_handlers
    from cronledger.worker.command import KIND, Command
    from cronledger.worker.pool import Worker
    from cronledger.worker.settings import Access, WorkerSettings

    settings = WorkerSettings(
        name=f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}",
        queues=tuple(options.queues),
        concurrency=options.concurrency,
        poll=options.poll,
    )
    handlers: dict[str, Handler] = {}
    if options.app is not None:
        handlers |= load_handlers(options.app)
    if options.commands:
        handlers.setdefault(KIND, Command(database.outputs(), os.environ))
    access = Access(database.queue(), database.queue(), database.effects(), database.wakeups())
    return Worker(settings, handlers, access, clock(), observe)


def _both(first: Callable[..., None], second: Callable[..., None]) -> Observe:
    def observe(event: object) -> None:
        first(event)
        second(event)

    return observe
