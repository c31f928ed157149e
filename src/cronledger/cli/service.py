"""Commands that stay: run (the sidecar) and work (a worker), until a signal ends them.

The signals are blocked and waited for, so that no handler interrupts anything half done.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cronledger.cli import render
from cronledger.cli.options import (
    Database,
    FileArgument,
    Replace,
    database,
    duration,
    file_path,
)
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.daemon.sidecar import Sidecar
    from cronledger.http import Server
    from cronledger.worker.pool import Worker

Look: TypeAlias = tuple[int, int, int] | None
ENDING = (signal.SIGTERM, signal.SIGINT)
# How often the file is looked at for a change.
WATCH_SECONDS = 2.0
# How often the end of the worker by itself is noticed.
SIGNAL_SECONDS = 0.2


def run(
    ctx: typer.Context,
    file: FileArgument = None,
    listen: Annotated[
        str, typer.Option("--listen", help="HOST:PORT of /metrics; port 0 takes any.")
    ] = "127.0.0.1:9467",
    reconcile_every: Annotated[str, typer.Option("--reconcile-every")] = "60s",
    measure_every: Annotated[str, typer.Option("--measure-every")] = "15s",
    lookback: Annotated[
        str, typer.Option("--lookback", help="How far back each reconcile looks.")
    ] = "7d",
    replace: Replace = False,
    database_url: Database = None,
) -> None:
    """The sidecar: tick at due times, reconcile, measure, serve /metrics; SIGHUP reloads."""
    from cronledger import processes, wiring

    host, port = _address(listen)
    options = processes.RunOptions(
        host,
        port,
        duration(reconcile_every, "--reconcile-every"),
        duration(measure_every, "--measure-every"),
        duration(lookback, "--lookback"),
        replace,
    )
    path = file_path(ctx, file)
    seen = _look(path)  # before it is loaded, so that no change in between is overlooked
    log = wiring.event_log()
    with database(ctx, database_url, "run") as store:
        sidecar, server = processes.sidecar(path, store, options, log)
        signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGHUP})
        _serve(sidecar, server, host, lambda: _until_ended(path, seen, sidecar.reload))


def _serve(sidecar: Sidecar, server: Server, host: str, wait: Callable[[], None]) -> None:
    """Run until `wait` returns. The address first: what a tick decides cannot be taken back."""
    sidecar.prepare()
    bound = server.start()
    try:
        sidecar.start()
        render.tell(f"serving http://{host}:{bound}/metrics")
        wait()
    finally:
        server.stop()
        sidecar.stop()


def work(
    ctx: typer.Context,
    app: Annotated[
        str | None, typer.Option("--app", help="package.module:object that holds the handlers.")
    ] = None,
    commands: Annotated[
        bool, typer.Option("--exec", help="Run the commands of schedules that have one.")
    ] = False,
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", help="A queue to claim from; repeat for more. All, if none."),
    ] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, max=1000)] = 10,
    poll: Annotated[str, typer.Option("--poll", help="How often an idle worker looks.")] = "1s",
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Stop when nothing is eligible or running.")
    ] = False,
    database_url: Database = None,
) -> None:
    """A worker: claims jobs, runs their handlers. SIGTERM drains, a second one ends it now."""
    from cronledger import processes, wiring

    if app is None and not commands:
        raise ConfigError("work runs handlers or commands; give --app, --exec, or both")
    span = duration(poll, "--poll")
    options = processes.WorkOptions(app, commands, queue or [], concurrency, span)
    with database(ctx, database_url, "work") as store:
        store.check_rights("worker")
        worker = processes.worker(options, store, wiring.event_log())
        if until_idle:
            worker.run_until_idle()
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, set(ENDING))
        _work_until_ended(worker)


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"--listen: expected HOST:PORT, got {listen!r}; write 127.0.0.1:9467")
    return host.strip("[]"), int(port)


def _until_ended(path: Path, seen: Look, reload: Callable[[], None]) -> None:
    """Wait for the end; reload on SIGHUP and when the file looks different from `seen`."""
    while True:
        heard = signal.sigtimedwait({*ENDING, signal.SIGHUP}, WATCH_SECONDS)
        if heard is not None and heard.si_signo in ENDING:
            return
        now = _look(path)
        if heard is not None or now != seen:
            seen = now
            reload()


def _look(path: Path) -> Look:
    """What changes when a file is written or replaced; None while it is away."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _work_until_ended(worker: Worker) -> None:
    ended = Event()
    failed: list[BaseException] = []

    def work_and_tell() -> None:
        try:
            worker.run()
        except BaseException as error:  # raised again where the exit code is made
            failed.append(error)
        finally:
            ended.set()

    thread = Thread(target=work_and_tell, name="cronledger-worker", daemon=True)
    thread.start()
    signals = 0
    while not ended.is_set():
        if signal.sigtimedwait(ENDING, SIGNAL_SECONDS) is None:
            continue
        signals += 1
        worker.stop()
        if signals == 1:
            render.tell("draining; a second signal ends it at once")
    thread.join()
    if failed:
        raise failed[0]
