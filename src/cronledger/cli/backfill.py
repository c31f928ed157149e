"""`backfill`: fills exactly the missing keys of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.comparison import Asked, classes, compared
from cronledger.cli.options import (
    Actor,
    Database,
    From,
    Output,
    Reason,
    Since,
    To,
    Words,
    by_whom,
)
from cronledger.cli.render import Format
from cronledger.core.instants import from_epoch
from cronledger.core.keys import OccurrenceKey

if TYPE_CHECKING:
    from cronledger.flows.backfill import Filling

FILLABLE = frozenset({"missing", "omitted"})


def backfill(
    ctx: typer.Context,
    words: Words = None,
    start: From = None,
    end: To = None,
    since: Since = None,
    include: Annotated[
        str | None, typer.Option("--include", help="Fill these as well: omitted.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many keys.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write; without it, only show.")] = False,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Fill exactly the missing keys of a window; a dry run without --apply and --reason."""
    from cronledger.flows.backfill import fill, order

    wanted = set(classes(f"missing,{include or ''}", "--include", FILLABLE))
    by = by_whom(actor, reason) if apply else None
    with compared(ctx, database_url, words, Asked((start, end, since))) as found:
        ordered = order(found.drifts, found.file.schedules, wanted, limit)
        written = 0
        if by is not None:
            with render.progress(ordered.total) as advance:
                done = fill(ordered, by, found.ledger, found.zones, _quiet, advance)
            written = sum(len(filled.epochs) for filled in done)
    for name in ordered.unknown:
        render.tell(
            f"{name} has gaps, but {found.file.path} does not say what its job is "
            "(removed, or managed by another scheduler); nothing is filled for it"
        )
    rows = [row | {"applied": apply} for filling in ordered.fillings for row in _keys(filling)]
    extra = {"applied": apply, "written": written, "left_by_limit": ordered.left}
    render.show(output, "occurrences", rows, ("key",), extra)
    if output is Format.TABLE:
        _say_filled(apply, ordered.total, written, ordered.left)


def _say_filled(applied: bool, total: int, written: int, left: int) -> None:
    if not applied:
        render.say(
            f"dry run: {_keys_of(total)} would be enqueued; add --apply and --reason to do it"
        )
    else:
        others = total - written
        already = f"; {_keys_of(others)} had been written by others meanwhile" if others else ""
        render.say(f"enqueued {_keys_of(written)}{already}")
    if left:
        render.say(f"{_keys_of(left)} more lie beyond --limit")


def _keys_of(count: int) -> str:
    return f"{count} key{'s' * (count != 1)}"


def _keys(filling: Filling) -> list[dict[str, Any]]:
    return [
        {
            "key": str(OccurrenceKey(filling.standing.name, from_epoch(epoch))),
            "schedule": filling.standing.name,
            "logical_time": from_epoch(epoch),
        }
        for epoch in filling.epochs
    ]


def _quiet(_: object) -> None:
    """A command prints its own report; events are for processes that stay."""
