"""The two processes that stay, put together: the sidecar and the worker."""

from __future__ import annotations

import ipaddress
import os
import platform
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cronledger.core.tiers import EVERY, Choice
from cronledger.errors import ConfigError, Problem
from cronledger.observing import telemetry
from cronledger.wiring import Store, clock, load_file, version, zones

if TYPE_CHECKING:
    from cronledger.core.web import WebSettings
    from cronledger.daemon.board import Board
    from cronledger.daemon.ping import Pinger
    from cronledger.daemon.sidecar import Sidecar
    from cronledger.daemon.watch import WebFile
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
    web_config: Path | None = None
    ping_url: str | None = None
    series: Choice = EVERY


@dataclass(frozen=True, slots=True)
class Resident:
    """A sidecar, the server of its endpoints, and what else stays with them."""

    sidecar: Sidecar
    server: Server
    observe: Observe
    web: WebFile | None = None
    pinger: Pinger | None = None

    def warning(self, host: str) -> str:
        """What to know of an endpoint that others than this host can reach; "" if nothing."""
        if _is_loopback(host):
            return ""
        settings = self.server.settings
        if not settings.shut:
            return f"whoever reaches {host} can read the metrics; --web-config asks for passwords"
        if settings.tls is None:
            return f"passwords cross the network to {host} in clear text; --web-config adds TLS"
        return ""


def resident(path: Path, database: Store, options: RunOptions, observe: Observe) -> Resident:
    """A sidecar over the file with its endpoints. Raises ConfigError."""
    from cronledger.core.events import Event, Followed, Reconciled
    from cronledger.daemon.board import Board
    from cronledger.daemon.ping import Pinger

    zone_data, time = zones(), clock()
    board = Board(
        load_file(path, zone_data),
        version(),
        zone_data.version,
        options.reconcile_every,
        time.now(),
    )
    pinger = None
    if options.ping_url is not None:
        from cronledger.adapters.ping import sender

        pinger = Pinger(sender(options.ping_url, version()), time, board.observe, observe)
    heard = _both(_both(board.observe, observe), telemetry().observe)

    def heard_and_passed_on(event: Event) -> None:
        heard(event)
        good = isinstance(event, Reconciled) or (isinstance(event, Followed) and event.fresh)
        if pinger is not None and good and made.is_ticking():
            pinger.ping()

    made = _sidecar(board, path, database, options, heard_and_passed_on)
    web = _web_file(options.web_config) if options.web_config is not None else None
    return Resident(made, _server(made, options, web), heard, web, pinger)


def _web_file(path: Path) -> WebFile:
    from cronledger.daemon.watch import WebFile

    return WebFile(path, _load_web)


def _load_web(path: Path) -> WebSettings:
    from cronledger.adapters.config.web import load_web

    settings = load_web(path)
    if settings.users:
        try:
            from cronledger.adapters.passwords import refuse_unusable
        except ImportError:
            message = "basic_auth_users needs bcrypt; install cronledger[web]"
            raise ConfigError([Problem(message, file=str(path))]) from None
        refuse_unusable(settings.users)
    return settings


def _server(made: Sidecar, options: RunOptions, web: WebFile | None) -> Server:
    from cronledger.core.web import WebSettings
    from cronledger.http import Answers, Server

    answers = Answers(made.exposition, made.why_not_healthy, made.why_not_ready, version())
    settings = web.settings if web is not None else WebSettings()
    return Server(
        answers,
        host=options.host,
        port=options.port,
        settings=settings,
        check_password=_check_password,
    )


def _check_password(password: bytes, hashed: bytes) -> bool:
    from cronledger.adapters.passwords import check_password

    return check_password(password, hashed)


def _sidecar(
    board: Board, path: Path, database: Store, options: RunOptions, heard: Observe
) -> Sidecar:
    from cronledger.adapters.observe.metrics import Renderer
    from cronledger.adapters.postgres.queue import PostgresQueue
    from cronledger.adapters.postgres.snapshot import PostgresMeasured
    from cronledger.daemon.measurer import Instruments, Measurer
    from cronledger.daemon.passes import Pruner, Ticker, Tools
    from cronledger.daemon.reconciler import Reconciler
    from cronledger.daemon.sidecar import Passes, Sidecar

    zone_data, time = zones(), clock()

    def tools() -> Tools:
        return Tools(database.ledger(), zone_data, heard, time, telemetry().span)

    session = database.session()
    told = telemetry()
    renderer = Renderer(options.series, told.measured if told.measures else None)
    instruments = Instruments(
        PostgresMeasured(session), PostgresQueue(session), renderer.render, _process_name()
    )
    passes = Passes(
        Ticker(board, tools(), replace=options.replace),
        Reconciler(board, tools(), options.lookback),
        Measurer(board, tools(), instruments, options.measure_every),
        Pruner(database.prune(), heard),
    )
    return Sidecar(
        board, passes, lambda: load_file(path, zone_data), time, heard, options.measure_every
    )


@dataclass(frozen=True, slots=True)
class WorkOptions:
    """How a worker runs. `queues` in the order in which they are claimed; `app` names the handlers,
    and with `commands` jobs that are commands are run as well."""

    app: str | None
    commands: bool
    queues: Sequence[str]
    concurrency: int
    poll: timedelta


def worker(options: WorkOptions, database: Store, log: Callable[[str], Observe]) -> Worker:
    """A worker with the handlers that `options.app` names; `log` makes the log of that name.

    Raises ConfigError.
    """
    from cronledger.adapters.plugins import load_handlers
    from cronledger.worker.command import KIND, Command
    from cronledger.worker.pool import Worker
    from cronledger.worker.settings import Access, WorkerSettings
    from cronledger.worker.traced import within_each

    settings = WorkerSettings(
        name=_process_name(),
        queues=tuple(options.queues),
        concurrency=options.concurrency,
        poll=options.poll,
    )
    handlers: dict[str, Handler] = {}
    if options.app is not None:
        handlers |= load_handlers(options.app)
    if options.commands:
        handlers.setdefault(KIND, Command(database.outputs(), os.environ))
    # After the handlers' module, which may set up OpenTelemetry itself.
    told = telemetry()
    if told.on:
        handlers = within_each(handlers, told.attempt)
    access = Access(database.queue(), database.queue(), database.effects(), database.wakeups())
    heard = _both(log(settings.name), told.observe)
    return Worker(settings, handlers, access, clock(), heard)


def _process_name() -> str:
    """Of this process among all that work with the ledger."""
    return f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _both(first: Callable[..., None], second: Callable[..., None]) -> Observe:
    def observe(event: object) -> None:
        first(event)
        second(event)

    return observe
