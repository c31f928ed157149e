"""Commands about dead letters: list, replay, discard, one or many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli import render
from cronledger.cli.jobs import ErrorClass, KindName, QueueName, choose, job_id, job_row
from cronledger.cli.options import Actor, Database, Output, Reason, by_whom, database
from cronledger.cli.render import Format
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.audit import By
    from cronledger.core.lifecycle import Job
    from cronledger.ports import Controls
    from cronledger.wiring import Store

COLUMNS = ("id", "key", "queue", "kind", "error_class", "attempt", "finished_at", "error")
DEAD_MAX = 100_000

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="[ID|KEY]...", help="Jobs by their ids or keys.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Do it; without it, only show.")]

dead = typer.Typer(help="Dead letters: jobs that will not be tried again.", no_args_is_help=True)


@dead.command("list")
def list_(
    ctx: typer.Context,
    queue: QueueName = None,
    kind: KindName = None,
    error_class: ErrorClass = None,
    all_: Annotated[bool, typer.Option("--all", help="Discarded ones as well.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=DEAD_MAX)] = 50,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """The newest dead letters first."""
    with database(ctx, database_url, "dead") as store:
        found = _chosen(store, (), (queue, kind, error_class), limit)
    rows = [job_row(job) for job in found if all_ or job.discarded_at is None]
    render.show(output, "jobs", rows, COLUMNS)
    if output is Format.TABLE and not rows:
        render.tell("no dead letter matches")


@dead.command()
def replay(
    ctx: typer.Context,
    ids: Ids = None,
    queue: QueueName = None,
    kind: KindName = None,
    error_class: ErrorClass = None,
    per_minute: Annotated[
        int | None, typer.Option("--per-minute", min=1, help="Start no more than so many a minute.")
    ] = None,
    apply: Apply = False,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Try dead jobs again under their own keys; a dry run without --apply and --reason."""
    pace = timedelta(minutes=1) / per_minute if per_minute else timedelta(0)
    with database(ctx, database_url, "dead") as store:
        now = store.ledger().now()

        def one(controls: Controls, place: int, job: Job, by: By) -> str:
            return controls.replay(job.id, now + pace * place if pace else None, by)

        found = _chosen(store, ids or (), (queue, kind, error_class), DEAD_MAX)
        _do(store, found, one, _by(apply, actor, reason), "replayed")


@dead.command()
def discard(
    ctx: typer.Context,
    ids: Ids = None,
    queue: QueueName = None,
    kind: KindName = None,
    error_class: ErrorClass = None,
    apply: Apply = False,
    reason: Reason = "",
    actor: Actor = None,
    database_url: Database = None,
) -> None:
    """Put dead letters away, so that no alert asks for them; they may still be replayed."""
    with database(ctx, database_url, "dead") as store:
        found = _chosen(store, ids or (), (queue, kind, error_class), DEAD_MAX)
        found = [job for job in found if job.discarded_at is None]
        _do(
            store,
            found,
            lambda controls, _, job, by: controls.discard(job.id, by),
            _by(apply, actor, reason),
            "discarded",
        )


def _by(apply: bool, actor: str | None, reason: str) -> By | None:
    return by_whom(actor, reason) if apply else None


def _chosen(
    store: Store, ids: Sequence[str], filters: tuple[str | None, str | None, str | None], limit: int
) -> list[Job]:
    """The dead jobs that are meant, the newest first; those named, whatever their state."""
    queue, kind, error_class = filters
    if not ids:
        return store.jobs().jobs(choose(queue, "dead", kind, error_class), limit)
    if any(filters):
        raise ConfigError("give ids, or --queue, --kind and --error-class, but not both")
    found = []
    for text in dict.fromkeys(ids):
        job = store.jobs().job(job_id(store, text))
        if job is None:
            raise ConfigError(f"there is no job {text}; `dead list` shows the dead ones")
        found.append(job)
    return found


def _do(
    store: Store,
    found: Sequence[Job],
    change: Callable[[Controls, int, Job, By], str],
    by: By | None,
    done: str,
) -> None:
    """Say what is meant; with `by`, do it, the oldest first, each in a transaction of its own."""
    counts = Counter((job.queue, job.kind, job.error_class or "-") for job in found)
    for (queue, kind, error_class), count in sorted(counts.items()):
        render.say(f"{count:>6}  {queue}  {kind}  {error_class}")
    if not found:
        render.say("no dead letter matches")
    elif by is None:
        render.say(f"dry run: {len(found)} would be {done}; add --apply and --reason to do it")
    else:
        controls = store.controls()
        with render.progress(len(found)) as advance:
            for place, job in enumerate(reversed(found)):
                change(controls, place, job, by)
                advance(1)
        render.say(f"{len(found)} {done}")
