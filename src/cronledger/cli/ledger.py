"""Commands that write the ledger by schedule: migrate and tick."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli import render
from cronledger.cli.options import (
    Database,
    FileArgument,
    Output,
    Replace,
    context,
    database,
    duration,
    file_path,
    instant,
    load,
)
from cronledger.cli.render import Format
from cronledger.core.instants import format_instant, from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import RefusedError

if TYPE_CHECKING:
    from cronledger.flows.tick import Ticked

NAMES_SHOWN = 5


def migrate(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    sql: Annotated[bool, typer.Option("--sql", help="Print them, to apply by hand.")] = False,
    database_url: Database = None,
) -> None:
    """Apply the pending migrations of the ledger's schema."""
    from cronledger import wiring

    store = wiring.store(database_url or context(ctx).database, "migrate")
    try:
        waiting = store.pending()
        for name, script in waiting:
            render.say(script if sql else f"{'pending' if dry_run else 'applying'} {name}")
        if not waiting:
            render.tell("nothing is pending")
        elif not dry_run and not sql:
            store.migrate()
    finally:
        store.close()


def tick(
    ctx: typer.Context,
    file: FileArgument = None,
    every: Annotated[
        str | None,
        typer.Option("--every", help="How often tick is called (5m): due in between is on time."),
    ] = None,
    at: Annotated[str | None, typer.Option("--at", help="Take this instant for now.")] = None,
    allow_future: Annotated[
        bool, typer.Option("--allow-future", help="Let --at be ahead.")
    ] = False,
    replace: Replace = False,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """One pass: enqueue what is owed by now, once each; say what was left out, and why."""
    from cronledger.flows.tick import Moment, note
    from cronledger.flows.tick import tick as decide

    loaded, zones = load(file_path(ctx, file))
    as_of = instant(at, "--at") if at else None
    with database(ctx, database_url, "tick") as store:
        ledger = store.ledger()
        if as_of is not None and as_of > ledger.now() and not allow_future:
            raise RefusedError(f"--at {at} lies in the future; add --allow-future if it is meant")
        noted = note(loaded, ledger, zones, _quiet, as_of, replace=replace)
        now = as_of or ledger.now()
        span = duration(every, "--every") if every else timedelta(0)
        done = decide(loaded.schedules, ledger, zones, _quiet, Moment(now, as_of, span))
    for word, names in (("opened a version of", noted.opened), ("ended", noted.ended)):
        if names:
            render.tell(f"{word} {_some(names)}")
    if noted.late:
        since = format_instant(noted.now)
        render.tell(
            f"the file dates a version of {_some(noted.late)} before this load; it is in force "
            f"from {since} on: `cronledger backdate` says what its own date would change"
        )
    _show_ticked(done, output)


def _quiet(_: object) -> None:
    """A command prints its own report; events are for processes that stay."""


def _show_ticked(done: Sequence[Ticked], output: Format) -> None:
    if output is not Format.TABLE:
        rows = [
            {"key": str(OccurrenceKey(t.schedule, o.logical_time)), "schedule": t.schedule,
             "logical_time": o.logical_time}
            for t in done for o in t.enqueued
        ]  # fmt: skip
        left = [
            {"schedule": t.schedule, "from": from_epoch(s.start), "to": from_epoch(s.end),
             "reason": str(s.reason), "count": s.count}
            for t in done for s in t.left_out
        ]  # fmt: skip
        extra = {"left_out": left}
        render.show(output, "occurrences", rows, ("key", "schedule", "logical_time"), extra)
        return
    total = sum(len(t.enqueued) for t in done)
    render.say(f"enqueued {total} occurrence{'s' * (total != 1)}")
    for ticked in done:
        if ticked.enqueued:
            first, last = ticked.enqueued[0].logical_time, ticked.enqueued[-1].logical_time
            render.say(f"  {ticked.schedule}: {len(ticked.enqueued)}, "
                       f"{format_instant(first)} to {format_instant(last)}")  # fmt: skip
        for span in ticked.left_out:
            render.say(
                f"  {ticked.schedule}: left out {span.count} ({span.reason}), "
                f"{format_instant(from_epoch(span.start))} to "
                f"{format_instant(from_epoch(span.end - 1))}"
            )


def _some(names: Sequence[str]) -> str:
    """A few of the names, and how many more there are."""
    shown = ", ".join(names[:NAMES_SHOWN])
    rest = len(names) - NAMES_SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
