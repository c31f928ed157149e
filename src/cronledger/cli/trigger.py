"""`trigger`: one run of a schedule by hand."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

import typer

from cronledger.cli import render
from cronledger.cli.options import (
    Actor,
    Database,
    Output,
    Reason,
    Words,
    by_whom,
    database,
    load,
    pick,
    split_words,
)
from cronledger.cli.render import Format
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError


def trigger(
    ctx: typer.Context,
    words: Words = None,
    as_key: Annotated[
        str | None, typer.Option("--as", help="Run as this owed key, once; it is then recorded.")
    ] = None,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Run one schedule now, by hand (FILE SCHEDULE --reason TEXT); exit 1 if --as was recorded."""
    from cronledger.flows.trigger import trigger as by_hand
    from cronledger.flows.trigger import trigger_as

    path, names = split_words(ctx, words)
    file, zones = load(path)
    if len(names) != 1:
        raise ConfigError("trigger runs one schedule; name it after the file")
    schedule = file.schedules[pick(file, names)[0]]
    by = by_whom(actor, reason)
    with database(ctx, database_url, "trigger") as store:
        if as_key is None:
            done = by_hand(schedule, str(uuid4()), by, store.ledger())
        else:
            done = trigger_as(schedule, _key(as_key), by, store.ledger(), zones)
    if output is Format.TABLE:
        render.say(f"enqueued {done.key}" if done.new else f"{done.key} was recorded already")
        if done.new:
            render.tell(f"more: `cronledger jobs show {done.key}`")
    else:
        row = {"key": done.key, "schedule": schedule.id, "new": done.new}
        render.show(output, "occurrences", [row], tuple(row))
    if not done.new:
        raise typer.Exit(1)


def _key(text: str) -> OccurrenceKey:
    try:
        return OccurrenceKey.parse(text)
    except ValueError as error:
        raise ConfigError(f"--as: {error}") from None
