"""Commands about single jobs: list, show, and what operators do to one by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

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
)
from cronledger.cli.render import Format
from cronledger.core.chunks import parent_and_name
from cronledger.core.instants import Window, format_instant, to_epoch, up_to
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.audit import By
    from cronledger.core.lifecycle import Job
    from cronledger.ports import Chosen, Controls
    from cronledger.wiring import Store

COLUMNS = ("id", "key", "queue", "kind", "state", "attempt", "eligible_at", "error_class")

Which = Annotated[str, typer.Argument(metavar="ID|KEY", help="A job's id, or its key.")]
QueueName = Annotated[str | None, typer.Option("--queue")]
KindName = Annotated[str | None, typer.Option("--kind")]
ErrorClass = Annotated[str | None, typer.Option("--error-class", help="Such as TimeoutError.")]

jobs = typer.Typer(help="Jobs, one by one or filtered.", no_args_is_help=True)


@jobs.command("list")
def list_(
    ctx: typer.Context,
    queue: QueueName = None,
    state: Annotated[str | None, typer.Option("--state", help="Such as eligible or dead.")] = None,
    kind: KindName = None,
    error_class: ErrorClass = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000)] = 50,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """The newest jobs first."""
    chosen = choose(queue, state, kind, error_class)
    with database(ctx, database_url, "jobs") as store:
        found = store.jobs().jobs(chosen, limit)
    render.show(output, "jobs", [job_row(job) for job in found], COLUMNS)
    if output is Format.TABLE and not found:
        render.tell("no job matches")
    if len(found) == limit:
        render.tell(f"the newest {limit} are shown; --limit shows more")


@jobs.command()
def show(
    ctx: typer.Context,
    which: Which,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Everything about one job."""
    with database(ctx, database_url, "jobs") as store:
        job = store.jobs().job(job_id(store, which))
    if job is None:
        raise ConfigError(f"there is no job {which}; `jobs list` shows the newest")
    if output is not Format.TABLE:
        render.show(output, "jobs", [job_row(job)], COLUMNS)
        return
    for name, value in job_row(job).items():
        render.say(f"{name:<19} {render.person(value)}")


@jobs.command()
def cancel(
    ctx: typer.Context,
    which: Which,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """End a job that waits, for good; ask the worker of a running one to end it."""
    done = _change(ctx, database_url, which, actor, reason, lambda c, id_, by: c.cancel(id_, by))
    if done == "cancel_requested":
        render.say(
            f"{which}: its worker hears it with its next heartbeat; unless the attempt completes "
            "first, the job is then cancelled"
        )
    else:
        render.say(f"{which}: {done}; this cannot be undone, `trigger` runs a schedule anew")


@jobs.command()
def retry(
    ctx: typer.Context,
    which: Which,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Let a job that waits for a later time be claimed now."""
    done = _change(ctx, database_url, which, actor, reason, lambda c, id_, by: c.retry_now(id_, by))
    render.say(f"{which}: {done}")


@jobs.command()
def release(
    ctx: typer.Context,
    which: Which,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Take a running job from its worker, uncharged; what that worker still says is refused."""
    done = _change(ctx, database_url, which, actor, reason, lambda c, id_, by: c.take_back(id_, by))
    render.say(f"{which}: {done}; its handler may run on until the worker hears of it")


@jobs.command()
def extend(
    ctx: typer.Context,
    which: Which,
    by_span: Annotated[str, typer.Option("--by", help="How long from now, such as 10m.")],
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Let the lease of a running job last longer than its worker asks for."""
    span = duration(by_span, "--by")
    until = _change(
        ctx,
        database_url,
        which,
        actor,
        reason,
        lambda c, id_, by: format_instant(c.prolong(id_, span, by)),
    )
    render.say(f"{which}: leased until {until}")


def choose(
    queue: str | None, state: str | None, kind: str | None, error_class: str | None
) -> Chosen:
    """The jobs that the options mean."""
    from cronledger.core.lifecycle import JobState
    from cronledger.ports import Chosen

    if state is not None and state not in list(JobState):
        raise ConfigError(f"--state: no state {state!r}; write one of {', '.join(JobState)}")
    return Chosen(queue, state, kind, error_class)


def job_row(job: Job) -> dict[str, Any]:
    """One job as commands show it."""
    return asdict(job) | {"state": str(job.state)}


def _change(
    ctx: typer.Context,
    database_url: str | None,
    which: str,
    actor: str | None,
    reason: str,
    change: Callable[[Controls, int, By], str],
) -> str:
    """Do something to one job by hand; returns what the database answers."""
    by = by_whom(actor, reason)
    with database(ctx, database_url, "jobs") as store:
        return change(store.controls(), job_id(store, which), by)


def job_id(store: Store, which: str) -> int:
    """The id that was given, or that of the job whose key was given."""
    if which.isdecimal() and len(which) < 19:
        return int(which)
    found = _of_occurrence(store, which) or store.jobs().job_with(which)
    if found is None and (chunk := parent_and_name(which)) is not None:
        parent, name = chunk
        found = store.chunk_sets().chunk_job(job_id(store, parent), name)
        if found is None:
            raise ConfigError(
                f"{parent} has no chunk {name!r}; `jobs chunks {parent}` shows its set"
            )
    if found is None:
        raise ConfigError(
            f"there is no job {which}; `jobs list` shows the newest, and for the key of a schedule"
            " `explain KEY` says how far it came"
        )
    return found


def _of_occurrence(store: Store, which: str) -> int | None:
    """By the primary key of the occurrences, so at once."""
    try:
        key = OccurrenceKey.parse(which)
    except ValueError:
        return None
    ledger = store.ledger()
    window = up_to(key.logical_time, key.logical_time)
    for standing in ledger.standings([key.schedule]):
        stages = ledger.stages([(standing.id, Window(key.logical_time, window.end))])
        found = stages.get(standing.id, {}).get(to_epoch(key.logical_time))
        if found is not None and found.job_id is not None:
            return found.job_id
    return None
