"""Commands that stay: run (the sidecar) and work (a worker), until a signal ends them.

The signals are blocked and waited for, so that no handler interrupts anything half done.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated

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
from cronledger.core.tiers import EVERY, Choice, PerSchedule
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.daemon.watch import Watch
    from cronledger.processes import Resident
    from cronledger.worker.pool import Worker

ENDING = (signal.SIGTERM, signal.SIGINT)
# How often the file is looked at for a change.
WATCH_SECONDS = 2.0
# How often the end of the worker by itself is noticed.
SIGNAL_SECONDS = 0.2

WebConfig = Annotated[
    Path | None,
    typer.Option("--web-config", help="TLS, users and headers of the endpoint, in YAML."),
]
PerScheduleOption = Annotated[
    PerSchedule,
    typer.Option("--per-schedule", help="Which schedules have metrics of their own."),
]
PerScheduleMax = Annotated[
    int,
    typer.Option("--per-schedule-max", min=0, help="How many healthy ones have, at most."),
]
PingUrl = Annotated[
    str | None,
    typer.Option(
        "--ping-url",
        envvar="CRONLEDGER_PING_URL",
        help="Fetched after each good pass, for somebody outside to miss; a secret.",
    ),
]


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
    web_config: WebConfig = None,
    ping_url: PingUrl = None,
    per_schedule: PerScheduleOption = EVERY.per_schedule,
    per_schedule_max: PerScheduleMax = EVERY.most,
    replace: Replace = False,
    database_url: Database = None,
) -> None:
    """The sidecar: tick at due times, reconcile, measure, serve /metrics; SIGHUP reloads."""
    from cronledger import observing, processes
    from cronledger.daemon.watch import Watch

    host, port = _address(listen)
    options = processes.RunOptions(
        host,
        port,
        duration(reconcile_every, "--reconcile-every"),
        duration(measure_every, "--measure-every"),
        duration(lookback, "--lookback"),
        replace,
        web_config,
        ping_url or None,
        Choice(per_schedule, per_schedule_max),
    )
    path = file_path(ctx, file)
    watch = Watch(path)  # before it is loaded, so that no change in between is overlooked
    log = observing.event_log()
    with database(ctx, database_url, "run") as store:
        resident = processes.resident(path, store, options, log)
        signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGHUP})
        _serve(resident, host, lambda: _until_ended(watch, resident))


def _serve(resident: Resident, host: str, wait: Callable[[], None]) -> None:
    """Run until `wait` returns. The address first: what a tick decides cannot be taken back."""
    sidecar, server, pinger = resident.sidecar, resident.server, resident.pinger
    sidecar.prepare()
    bound = server.start()
    try:
        if pinger is not None:
            pinger.start()
        sidecar.start()
        shown = f"[{host}]" if ":" in host else host
        render.tell(f"serving {server.scheme}://{shown}:{bound}/metrics")
        if warning := resident.warning(host):
            render.tell(warning)
        wait()
    finally:
        server.stop()
        sidecar.stop()
        if pinger is not None:
            pinger.stop()


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
    from cronledger import observing, processes

    if app is None and not commands:
        raise ConfigError("work runs handlers or commands; give --app, --exec, or both")
    span = duration(poll, "--poll")
    options = processes.WorkOptions(app, commands, queue or [], concurrency, span)
    with database(ctx, database_url, "work") as store:
        store.check_rights("worker")
        worker = processes.worker(options, store, observing.event_log)
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


def _until_ended(watch: Watch, resident: Resident) -> None:
    """Wait for the end; reload on SIGHUP, and what has changed in a file."""
    while True:
        heard = signal.sigtimedwait({*ENDING, signal.SIGHUP}, WATCH_SECONDS)
        if heard is not None and heard.si_signo in ENDING:
            return
        hurried = heard is not None
        if watch.changed() or hurried:
            resident.sidecar.reload()
        if resident.web is not None and (resident.web.changed() or hurried):
            resident.web.reload(resident.server.apply, resident.observe)


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
