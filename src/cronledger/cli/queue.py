"""Commands about jobs: list and show."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import Database, Output, database
from cronledger.cli.render import Format
from cronledger.core.instants import Window, to_epoch, up_to
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.lifecycle import Job
    from cronledger.wiring import Store

COLUMNS = ("id", "key", "queue", "kind", "state", "attempt", "eligible_at", "error_class")

jobs = typer.Typer(help="Jobs, one by one or filtered.", no_args_is_help=True)


@jobs.command("list")
def list_(
    ctx: typer.Context,
    queue: Annotated[str | None, typer.Option("--queue")] = None,
    state: Annotated[str | None, typer.Option("--state", help="Such as eligible or dead.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000)] = 50,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """The newest jobs first."""
    if state is not None:
        _check_state(state)
    with database(ctx, database_url, "jobs") as store:
        found = store.jobs().jobs(queue, state, limit)
    render.show(output, "jobs", [_row(job) for job in found], COLUMNS)
    if output is Format.TABLE and not found:
        render.tell("no job matches")


@jobs.command()
def show(
    ctx: typer.Context,
    which: Annotated[str, typer.Argument(metavar="ID|KEY", help="A job's id, or its key.")],
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Everything about one job."""
    with database(ctx, database_url, "jobs") as store:
        job = store.jobs().job(_job_id(store, which))
    if job is None:
        raise ConfigError(f"there is no job {which}; `jobs list` shows the newest")
    if output is not Format.TABLE:
        render.show(output, "jobs", [_row(job)], COLUMNS)
        return
    for name, value in _row(job).items():
        render.say(f"{name:<14} {render.person(value)}")


def _check_state(state: str) -> None:
    from cronledger.core.lifecycle import JobState

    if state not in list(JobState):
        raise ConfigError(f"--state: no state {state!r}; write one of {', '.join(JobState)}")


def _row(job: Job) -> dict[str, Any]:
    return asdict(job) | {"state": str(job.state)}


def _job_id(store: Store, which: str) -> int:
    """The id that was given, or that of the occurrence whose key was given."""
    if which.isdecimal() and len(which) < 19:
        return int(which)
    try:
        key = OccurrenceKey.parse(which)
    except ValueError as error:
        raise ConfigError(f"{which!r} is neither a job's id nor a key; {error}") from None
    ledger = store.ledger()
    window = up_to(key.logical_time, key.logical_time)
    for standing in ledger.standings([key.schedule]):
        stages = ledger.stages([(standing.id, Window(key.logical_time, window.end))])
        found = stages.get(standing.id, {}).get(to_epoch(key.logical_time))
        if found is not None and found.job_id is not None:
            return found.job_id
    raise ConfigError(f"{key} has no job; `explain {key}` says how far it came")
