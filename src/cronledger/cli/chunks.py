"""Commands about the chunks of a job: how far they have come, and an end to those that wait."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.jobs import Which, job_id, job_row, jobs
from cronledger.cli.options import Actor, Database, Output, Reason, by_whom, database
from cronledger.cli.render import Format

__all__ = ["cancel_chunks", "jobs", "show_chunks"]

if TYPE_CHECKING:
    from cronledger.core.chunks import ChunkCount, ChunkSet

COUNTS = ("state", "count", "oldest")
FAILING = ("id", "key", "state", "attempt", "error_class", "error")
# What `cancel-chunks` ends.
WAITING = ("scheduled", "eligible", "retrying")


@jobs.command("chunks")
def show_chunks(
    ctx: typer.Context,
    which: Which,
    limit: Annotated[
        int, typer.Option("--limit", min=0, max=100_000, help="Of failing ones.")
    ] = 10,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """How far the chunks are into which a job was split: how many in which state, which fail."""
    with database(ctx, database_url, "jobs") as store:
        sets = store.chunk_sets()
        id_ = job_id(store, which)
        found = sets.chunk_set(id_)
        counts = sets.chunk_counts(id_)
        failing = sets.failing_chunks(id_, limit)
    rows = [asdict(count) for count in counts]
    if output is not Format.TABLE:
        extra: dict[str, Any] = {"set": asdict(found), "failing": [job_row(job) for job in failing]}
        render.show(output, "chunks", rows, COUNTS, extra)
        return
    render.say(_headline(found))
    render.show(output, "chunks", rows, COUNTS)
    if failing:
        render.say("")
        render.show(output, "jobs", [job_row(job) for job in failing], FAILING)
    if found.state == "failed" and not found.cancelled:
        render.say(
            "nothing follows while a chunk is dead; `dead replay ID` of each opens the set again"
        )


@jobs.command("cancel-chunks")
def cancel_chunks(
    ctx: typer.Context,
    which: Which,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it, only show.")] = False,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """End the chunks of a job that wait, for good; those that run go on.

    A dry run without --apply and --reason.
    """
    by = by_whom(actor, reason) if apply else None
    with database(ctx, database_url, "jobs") as store:
        sets = store.chunk_sets()
        id_ = job_id(store, which)
        found = sets.chunk_set(id_)
        if by is None:
            _preview(found, sets.chunk_counts(id_))
            return
        cancelled = sets.cancel_chunks(id_, by)
        render.say(f"{cancelled} cancelled")
        render.say(_headline(sets.chunk_set(id_)))


def _headline(found: ChunkSet) -> str:
    """Where a set stands, and what follows it, in a line."""
    told = f"{found.key}: {found.state}, {found.completed} of {found.total} completed"
    for name, count in (("dead", found.dead), ("cancelled", found.cancelled)):
        told += f", {count} {name}" if count else ""
    if found.sealed_at is None:
        return f"{told}; not sealed: its job may add more"
    if found.then_kind is None:
        return f"{told}; nothing follows"
    if found.then_id is not None:
        return f"{told}; followed by job {found.then_id} ({found.then_kind})"
    if found.cancelled:
        return f"{told}; {found.then_kind} will not follow"
    return f"{told}; {found.then_kind} follows when all are"


def _preview(found: ChunkSet, counts: list[ChunkCount]) -> None:
    """What would be cancelled, and that it cannot be undone."""
    waiting = [count for count in counts if count.state in WAITING]
    for count in waiting:
        render.say(f"{count.count:>6}  {count.state}")
    number = sum(count.count for count in waiting)
    running = sum(count.count for count in counts if count.state == "leased")
    said = f"dry run: {number} would be cancelled"
    said += f", {running} would run on" if running else ""
    render.say(f"{said}; add --apply and --reason to do it")
    if number and found.then_kind:
        render.say(f"this cannot be undone, and {found.then_kind} would not follow")
    if found.sealed_at is None:
        render.say("not sealed: its job may add more; `jobs cancel` ends that")
