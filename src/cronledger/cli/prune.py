"""The command that lets go what is kept no longer, for those who run no sidecar."""

from __future__ import annotations

from typing import Annotated

import typer

from cronledger.cli import render
from cronledger.cli.options import Database, database


def prune(
    ctx: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it, only show.")] = False,
    database_url: Database = None,
) -> None:
    """Drop finished jobs, keys, receipts and occurrences that `retention` of the file keeps no
    longer.

    A sidecar does it every hour.
    """
    with database(ctx, database_url, "prune") as store:
        retention = store.prune()
        if not apply:
            found = retention.prunable()
            days = f" (days {found.days[0]} to {found.days[-1]})" if found.days else ""
            render.say(f"{found.jobs:>9}  finished jobs{days}")
            render.say(f"{found.keys:>9}  keys of jobs that no schedule owes")
            render.say(f"{found.receipts:>9}  receipts of effects")
            render.say(f"{found.occurrences:>9}  occurrences, of which the numbers by day are kept")
            render.say("dry run: add --apply to drop them")
            return
        retention.make_days()
        pruned = retention.prune(lambda: True)
        render.say(
            f"dropped {pruned.days} days and {pruned.jobs} single jobs, {pruned.keys} keys, "
            f"{pruned.receipts} receipts, {pruned.occurrences} occurrences"
        )
