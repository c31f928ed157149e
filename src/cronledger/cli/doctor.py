"""The command that looks at the ledger's database itself: what is wrong, and what to do."""

from __future__ import annotations

from dataclasses import asdict

import typer

from cronledger.cli import render
from cronledger.cli.options import Database, Output, database
from cronledger.cli.render import Format

COLUMNS = ("finding", "subject", "detail")


def doctor(
    ctx: typer.Context, database_url: Database = None, output: Output = Format.TABLE
) -> None:
    """Find what slows or stops the queue: stuck leases, long transactions, clocks, vacuum.

    Exit 1 if something is found.
    """
    from cronledger import wiring
    from cronledger.core.doctor import of_skew

    clock = wiring.clock()
    with database(ctx, database_url, "doctor") as store:
        ledger = store.ledger()
        ledger.now()  # connects, so that the next answer takes one round trip
        sent = clock.now()
        now = ledger.now()
        skew = sent + (clock.now() - sent) / 2 - now
        found = [*store.jobs().ailments(), *of_skew(skew)]
    render.show(output, "findings", [asdict(ailment) for ailment in found], COLUMNS)
    if found:
        raise typer.Exit(1)
    if output is Format.TABLE:
        render.say("nothing found")
