"""Commands about whole queues: list, pause, resume, drain; and the audit of all that is by hand."""

from __future__ import annotations

from dataclasses import asdict
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli import render
from cronledger.cli.options import (
    Actor,
    Database,
    Output,
    Reason,
    by_whom,
    database,
    duration,
    instant,
)
from cronledger.cli.render import Format
from cronledger.core.instants import format_instant
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from datetime import datetime

    from cronledger.wiring import Store

COLUMNS = ("name", "state", "eligible", "waiting", "leased", "dead", "paused_by", "pause_reason")
AUDIT_COLUMNS = ("at", "actor", "action", "subject", "reason")
POLL_SECONDS = 0.5

Name = Annotated[str, typer.Argument(metavar="QUEUE")]
Until = Annotated[
    str | None, typer.Option("--until", help="Resume at this instant, or after a span such as 30m.")
]

queue = typer.Typer(help="Queues: pause, resume, drain.", no_args_is_help=True)
audit = typer.Typer(help="Who changed what by hand, and why.", no_args_is_help=True)


@queue.command("list")
def list_(ctx: typer.Context, database_url: Database = None, output: Output = Format.TABLE) -> None:
    """Every queue, with its pause and how many jobs it holds."""
    with database(ctx, database_url, "queue") as store:
        now, found = store.ledger().now(), store.jobs().queues()
    rows = []
    for standing in found:
        ends = standing.paused_until
        paused = standing.paused_at is not None and (ends is None or ends > now)
        rows.append(asdict(standing) | {"state": "paused" if paused else "open"})
    render.show(output, "queues", rows, COLUMNS)


@queue.command()
def pause(
    ctx: typer.Context,
    name: Name,
    until: Until = None,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Stop the claims of a queue; what runs goes on, and what falls due is still enqueued."""
    by = by_whom(actor, reason)
    with database(ctx, database_url, "queue") as store:
        ends = _until(until, store)
        store.controls().pause(name, ends, by)
    said = f"until {format_instant(ends)}" if ends else f"until `queue resume {name}`"
    render.say(f"{name}: nothing is claimed {said}")


@queue.command()
def resume(
    ctx: typer.Context,
    name: Name,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Let the claims of a queue go on."""
    by = by_whom(actor, reason)
    with database(ctx, database_url, "queue") as store:
        resumed = store.controls().resume(name, by)
    render.say(f"{name}: {'resumed' if resumed else 'was not paused'}")


@queue.command()
def drain(
    ctx: typer.Context,
    name: Name,
    wait: Annotated[bool, typer.Option("--wait", help="Return when nothing is leased.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", help="How long --wait waits; exit 1 after that.")
    ] = "1h",
    until: Until = None,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Pause a queue and see its running jobs end."""
    by = by_whom(actor, reason)
    from cronledger import wiring

    patience, clock = duration(timeout, "--timeout"), wiring.clock()
    with database(ctx, database_url, "queue") as store:
        store.controls().pause(name, _until(until, store), by)
        ends = clock.monotonic() + patience
        while (leased := _leased(store, name)) and wait and clock.monotonic() < ends:
            Event().wait(POLL_SECONDS)
    if not leased:
        render.say(f"{name}: drained; `queue resume {name}` lets it go on")
        return
    render.say(f"{name}: paused, {leased} still running")
    if wait:
        raise typer.Exit(1)


@audit.command("list")
def audit_list(
    ctx: typer.Context,
    subject: Annotated[
        str | None, typer.Option("--subject", help="A key, a schedule or a queue.")
    ] = None,
    action: Annotated[str | None, typer.Option("--action", help="Such as replay.")] = None,
    actor: Annotated[str | None, typer.Option("--actor")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000)] = 50,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Manual changes, the newest first; machine formats have before and after."""
    with database(ctx, database_url, "audit") as store:
        found = store.jobs().audits(subject, action, actor, limit)
    render.show(output, "audit", [asdict(entry) for entry in found], AUDIT_COLUMNS)
    if output is Format.TABLE and not found:
        render.tell("no manual change matches")


def _until(text: str | None, store: Store) -> datetime | None:
    """An instant, or a span from now."""
    if text is None:
        return None
    try:
        return store.ledger().now() + duration(text, "--until")
    except ConfigError:
        return instant(text, "--until")


def _leased(store: Store, name: str) -> int:
    return next(found.leased for found in store.jobs().queues() if found.name == name)
