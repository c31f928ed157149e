"""`backdate`: let versions hold from the dates that the file gives them, though they are past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli import render
from cronledger.cli.diff import counted, edit_row, key_lines
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
from cronledger.core.instants import format_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cronledger.flows.backdate import Backdating

COLUMNS = ("schedule", "since", "added", "removed", "moved")


def backdate(
    ctx: typer.Context,
    words: Words = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write; without it, only show.")] = False,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Let versions hold from their `effective_from` on; a dry run without --apply and --reason."""
    from cronledger.flows.backdate import backdate as write
    from cronledger.flows.backdate import plan_backdating

    path, names = split_words(ctx, words)
    file, zones = load(path)
    chosen = [file.schedules[name] for name in pick(file, names)]
    by = by_whom(actor, reason) if apply else None
    with database(ctx, database_url, "backdate") as store:
        ledger = store.ledger()
        standings = {s.name: s for s in ledger.standings([s.id for s in chosen])}
        planned = list(plan_backdating(chosen, standings, zones, ledger.now()))
        if by is not None:
            for each in planned:
                write(each, by, ledger, zones)
    if output is Format.TABLE:
        _say(planned, apply)
        return
    rows = [{**edit_row(p.edit), "since": p.since, "applied": apply} for p in planned]
    render.show(output, "backdatings", rows, COLUMNS, {"applied": apply})


def _say(planned: Sequence[Backdating], apply: bool) -> None:
    for each in planned:
        since = format_instant(each.since)
        render.say(f"{each.schedule.id}: since {since}{counted(each.edit)}")
        for line in key_lines(each.edit):
            render.say(f"  {line}")
    if not planned:
        render.say("the dates of the file change nothing in the past of the ledger")
    elif not apply:
        render.say("dry run: add --apply and --reason to do it; recorded keys stay in any case")
    else:
        render.say(
            "done; what is owed now and not recorded is missing: ticks catch up what lies within "
            "the window of catch-up, `backfill` fills the rest"
        )
