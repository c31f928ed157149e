"""Commands about receipts of effects: list, and what a human knows of one that is in doubt."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from cronledger.cli import render
from cronledger.cli.options import Actor, Database, Output, Reason, by_whom, database
from cronledger.cli.render import Format
from cronledger.errors import ConfigError

COLUMNS = ("key", "effect", "state", "started_at", "attempt", "job_id")
STATES = ("started", "committed", "void")

effects = typer.Typer(help="Receipts of effects outside of the database.", no_args_is_help=True)


@effects.command("list")
def list_(
    ctx: typer.Context,
    key: Annotated[str | None, typer.Option("--key", help="Of the job with this key.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="started, committed, void.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000)] = 50,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """The newest receipts first; `started` ones have not been seen to happen."""
    if state is not None and state not in STATES:
        raise ConfigError(f"--state: no state {state!r}; write one of {', '.join(STATES)}")
    with database(ctx, database_url, "effects") as store:
        found = store.jobs().receipts(key, state, limit)
    render.show(output, "effects", [asdict(receipt) for receipt in found], COLUMNS)
    if output is Format.TABLE and not found:
        render.tell("no receipt matches")


@effects.command()
def resolve(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the job.")],
    effect: Annotated[str, typer.Argument(metavar="EFFECT", help="Its name within the job.")],
    happened: Annotated[
        bool | None,
        typer.Option("--happened/--never-happened", help="What you found out at the provider."),
    ] = None,
    result: Annotated[
        str | None, typer.Option("--result", help="JSON that the handler is given as its result.")
    ] = None,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Say whether an effect that was begun has happened; then `dead replay` goes on from there."""
    if happened is None:
        raise ConfigError("say --happened or --never-happened; this cannot be undone")
    if result is not None and not happened:
        raise ConfigError("--result: what never happened has no result; leave it out")
    by, kept = by_whom(actor, reason), _json(result)
    with database(ctx, database_url, "effects") as store:
        state = store.controls().resolve(key, effect, kept, by, happened=happened)
    render.say(f"{effect} of {key}: {state}")


def _json(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--result: {text!r} is not JSON ({error})") from None
    return text
