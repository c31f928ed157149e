"""`status`: one screen that says what is wrong, worst first."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import (
    DEFAULT_FILE,
    Database,
    FileArgument,
    Output,
    context,
    database,
    duration,
    file_path,
)
from cronledger.cli.render import Format
from cronledger.core.instants import format_instant, human_span
from cronledger.core.snapshot import QueuedState
from cronledger.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from cronledger.core.schedule import Schedule
    from cronledger.core.status import Line, Reading

COLUMNS = ("kind", "name", "state", "age", "objective", "what")
# Lines of the screen that are not rows: the heads, the summary, the commands.
FRAME = 8
COMMANDS_MAX = 3
CLEAR = "\033[H\033[2J"


def status(
    ctx: typer.Context,
    file: FileArgument = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again and again.")] = False,
    every: Annotated[str, typer.Option("--every", help="How often --watch looks.")] = "5s",
    lookback: Annotated[
        str, typer.Option("--lookback", help="How far back missing keys are sought.")
    ] = "7d",
    silent_after: Annotated[
        str, typer.Option("--silent-after", help="A sidecar is silent without reconciles so long.")
    ] = "10m",
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Schedules, queues, sidecar on one screen, worst first; exit 1 if something is wrong."""
    from cronledger import wiring
    from cronledger.core.status import lines
    from cronledger.flows.status import read

    pause, back = duration(every, "--every"), duration(lookback, "--lookback")
    patience, zones = duration(silent_after, "--silent-after"), wiring.zones()
    schedules = _schedules(ctx, file)
    with database(ctx, database_url, "status") as store:
        ledger, measured = store.ledger(), store.measured()

        def look() -> bool:
            reading = read(schedules, ledger, measured, zones, back)
            found = lines(reading, patience)
            _show(reading, found, output, watch)
            return any(line.verdict.is_wrong for line in found)

        if watch:
            _again_and_again(look, pause.total_seconds())
        if look():
            raise typer.Exit(1)


def _schedules(ctx: typer.Context, file: FileArgument) -> Mapping[str, Schedule]:
    """Those of the file; none where no file was named and there is none by the usual name."""
    from cronledger.cli.options import load

    if file is None and context(ctx).config is None and not DEFAULT_FILE.exists():
        render.tell(f"no {DEFAULT_FILE} here: what a schedule's objective is, is not known")
        return {}
    try:
        return load(file_path(ctx, file))[0].schedules
    except ConfigError as error:
        if file is not None or context(ctx).config is not None:
            raise
        render.tell(f"{error}\nthe file is left out: what objectives it has is not known")
        return {}


def _again_and_again(look: Callable[[], bool], pause: float) -> None:
    """Until an interrupt. A database that is away is waited for."""
    while True:
        try:
            look()
        except StoreError as error:
            render.tell(str(error))
        Event().wait(pause)


def _show(reading: Reading, found: list[Line], output: Format, watch: bool) -> None:
    now = reading.ledger.taken_at
    rows = [_row(line, now) for line in found]
    if output is not Format.TABLE:
        rows = [_in_seconds(row) for row in rows]
        extra = {"now": now, "summary": _summary(reading, found)}
        render.show(output, "status", rows, COLUMNS, extra)
        return
    fits = shutil.get_terminal_size().lines - FRAME if sys.stdout.isatty() else len(rows)
    noted = [row for row in rows if row["state"] != "fine"]
    shown = noted[: max(fits, 1)]
    if watch and sys.stdout.isatty():
        render.write(CLEAR)
    render.show(output, "status", shown, COLUMNS)
    if len(noted) > len(shown):
        render.say(f"... and {len(noted) - len(shown)} more; -o json has them all")
    for line in [line for line in found if line.command][:COMMANDS_MAX]:
        render.say(f"{line.name}: {line.command}")
    render.say(_sentence(reading, found))


def _row(line: Line, now: datetime) -> dict[str, Any]:
    row = asdict(line)
    row["state"] = row.pop("verdict")
    row["age"] = None if line.since is None else max(timedelta(0), now - line.since)
    return row


def _in_seconds(row: dict[str, Any]) -> dict[str, Any]:
    """As machine formats name spans."""
    spans = {name: row.pop(name) for name in ("age", "objective")}
    return row | {
        f"{name}_seconds": None if span is None else span.total_seconds()
        for name, span in spans.items()
    }


def _summary(reading: Reading, found: list[Line]) -> dict[str, Any]:
    counts = Counter(line.verdict for line in found)
    return {
        "wrong": sum(n for verdict, n in counts.items() if verdict.is_wrong),
        "by_state": dict(counts),
        "missing": sum(drift.missing for drift in reading.drift),
        "dead": sum(queue.jobs.get(QueuedState.DEAD, 0) for queue in reading.ledger.queues),
        "leased": sum(queue.jobs.get(QueuedState.LEASED, 0) for queue in reading.ledger.queues),
        "lease_expired": sum(
            queue.jobs.get(QueuedState.LEASE_EXPIRED, 0) for queue in reading.ledger.queues
        ),
        "workers": reading.workers,
        "last_tick": reading.last_tick,
        "last_reconcile": reading.ledger.last_reconcile,
        "retry_budgets": {
            queue.name: {"per_minute": queue.retry_budget, "used": queue.retries_used}
            for queue in reading.queues
            if queue.retry_budget is not None
        },
    }


def _sentence(reading: Reading, found: list[Line]) -> str:
    """The whole in one line, which is all there is when nothing is wrong."""
    said, now = _summary(reading, found), reading.ledger.taken_at
    budgets = "".join(
        f"; {name}: {budget['used']} of {budget['per_minute']} retries this minute"
        for name, budget in said["retry_budgets"].items()
    )
    reconciled = _ago(reading.ledger.last_reconcile, now)
    return (
        f"{format_instant(now)}: {_how(said, len(found))}; {said['missing']} missing, "
        f"{said['dead']} dead, {said['leased']} leased by {said['workers']} workers"
        f"{_expired(said)}; last tick "
        f"{_ago(reading.last_tick, now)}, last reconcile {reconciled}{budgets}"
    )


def _how(said: dict[str, Any], lines: int) -> str:
    """Well is what somebody looks after, and what goes on."""
    wrong, paused = said["wrong"], said["by_state"].get("paused", 0)
    if wrong:
        return f"{wrong} of {lines} need{'s' * (wrong == 1)} attention"
    if paused:
        return f"nothing is wrong, {paused} paused"
    if said["last_reconcile"] is None:
        return "nothing is wrong, and no sidecar has looked yet"
    return "all is well"


def _expired(said: dict[str, Any]) -> str:
    return f", {said['lease_expired']} past their end" if said["lease_expired"] else ""


def _ago(moment: datetime | None, now: datetime) -> str:
    return "never" if moment is None else f"{human_span(max(timedelta(0), now - moment))} ago"
