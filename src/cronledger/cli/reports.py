"""Commands about gaps: reconcile shows them, backfill fills them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.comparison import After, Asked, Comparison, end_if_interrupted
from cronledger.cli.comparison import compared as compare
from cronledger.cli.explain_key import key_row
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
from cronledger.core.instants import format_instant, from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.diff import OccurrenceClass
    from cronledger.flows.backfill import Filling
    from cronledger.flows.reconcile import Drift

# Classes that a table leaves out unless they are asked for.
FINE = frozenset({"completed", "running", "pruned"})
COLUMNS = ("key", "class", "reason", "age", "state", "recorded_at", "claimed_at", "committed_at")
FILLABLE = frozenset({"missing", "omitted"})


def reconcile(
    ctx: typer.Context,
    words: Words = None,
    start: From = None,
    end: To = None,
    since: Since = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Show only these classes (a,b).")
    ] = None,
    fail_on: Annotated[
        str, typer.Option("--fail-on", help="Exit 1 if a key is in one of these classes (a,b).")
    ] = "missing",
    after: After = None,
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """Compare what was expected with what is recorded; exit 1 when something is missing."""
    from cronledger.core.diff import OccurrenceClass

    failing = _classes(fail_on, "--fail-on")
    shown = set(_classes(only, "--only")) if only is not None else set(OccurrenceClass)
    if only is None and output is Format.TABLE:
        shown -= FINE
    # A table says where running jobs stand.
    wanted = shown | {OccurrenceClass.RUNNING}
    asked = Asked((start, end, since), wanted, after, partly=True)
    with compare(ctx, database_url, words, asked) as compared:
        pass  # everything was read; the report needs no connection
    counts = compared.counts()
    rows = _rows(compared.drifts, shown)
    if output is Format.TABLE:
        rows = _worst_first(rows, list(OccurrenceClass))
    render.show(output, "occurrences", rows, COLUMNS, compared.in_short(counts))
    if output is Format.TABLE:
        _summarise(compared, counts)
    end_if_interrupted(compared)
    if any(counts[word] for word in failing):
        raise typer.Exit(1)


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

    wanted = set(_classes(f"missing,{include or ''}", "--include", FILLABLE))
    by = by_whom(actor, reason) if apply else None
    with compare(ctx, database_url, words, Asked((start, end, since))) as compared:
        ordered = order(compared.drifts, compared.file.schedules, wanted, limit)
        written = 0
        if by is not None:
            with render.progress(ordered.total) as advance:
                done = fill(ordered, by, compared.ledger, compared.zones, _quiet, advance)
            written = sum(len(filled.epochs) for filled in done)
    for name in ordered.unknown:
        render.tell(
            f"{name} has gaps, but {compared.file.path} does not say what its job is "
            "(removed, or managed by another scheduler); nothing is filled for it"
        )
    rows = [row | {"applied": apply} for filling in ordered.fillings for row in _keys(filling)]
    extra = {"applied": apply, "written": written, "left_by_limit": ordered.left}
    render.show(output, "occurrences", rows, ("key",), extra)
    if output is Format.TABLE:
        _say_filled(apply, ordered.total, written, ordered.left)


def _rows(drifts: Sequence[Drift], shown: Collection[OccurrenceClass]) -> list[dict[str, Any]]:
    return [
        key_row(OccurrenceKey(drift.schedule, from_epoch(finding.epoch)), finding)
        for drift in drifts
        for finding in drift.findings
        if finding.occurrence_class in shown
    ]


def _worst_first(
    rows: Sequence[dict[str, Any]], severity: Sequence[OccurrenceClass]
) -> list[dict[str, Any]]:
    """The rows for people, with their age as a span."""
    ordered = sorted(rows, key=lambda row: severity.index(row["class"]))
    return [row | {"age": timedelta(seconds=row["age_seconds"])} for row in ordered]


def _summarise(compared: Comparison, counts: Counter[OccurrenceClass]) -> None:
    drifts = compared.drifts
    expected = sum(drift.expected for drift in drifts)
    recorded = sum(drift.recorded for drift in drifts)
    words = [f"{n} {word}{_states(drifts, word)}" for word, n in sorted(counts.items()) if n]
    known = sum(n for word, n in counts.items() if word != "unexpected")
    if expected > known:
        words.append(f"{expected - known} not recorded and within grace")
    span = f"{format_instant(compared.window.start)} to {format_instant(compared.window.end)}"
    number = len({drift.schedule for drift in drifts})
    schedules = f"{number} schedule{'s' * (number != 1)}"
    render.say(
        f"{span}: {schedules}, {expected} expected, {recorded} recorded; "
        f"{', '.join(words) or 'nothing was due'}"
    )
    _hint(compared, "missing", "")
    _hint(compared, "omitted", " --include omitted")


def _states(drifts: Sequence[Drift], word: str) -> str:
    """Where the jobs of running occurrences stand: one that nobody claimed is not worked on."""
    if word != "running":
        return ""
    found = (f for drift in drifts for f in drift.findings if f.occurrence_class == word)
    states = Counter(f.stages.state for f in found if f.stages is not None)
    return f" ({', '.join(f'{n} {state}' for state, n in sorted(states.items()) if state)})"


def _hint(compared: Comparison, word: str, include: str) -> None:
    """The command that fills keys of a class, if the file says what their jobs are."""
    from cronledger.core.schedule import known_as

    ours = known_as(compared.file.schedules)
    lost = [d for d in compared.drifts if any(f.occurrence_class == word for f in d.findings)]
    if any(drift.schedule in ours for drift in lost):
        start, end = compared.window.start, compared.window.end
        render.tell(
            f"fill what is {word}: cronledger backfill {compared.file.path} "
            f"--from {format_instant(start)} --to {format_instant(end)}{include}"
        )
    gone = [drift.schedule for drift in lost if drift.schedule not in ours]
    if gone and word == "missing":
        render.tell(
            f"{', '.join(gone)}: not in {compared.file.path} any more, so nothing fills these; a "
            "renamed schedule carries them on with `aliases`"
        )


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


def _classes(
    text: str, option: str, allowed: Collection[str] | None = None
) -> tuple[OccurrenceClass, ...]:
    from cronledger.core.diff import OccurrenceClass

    choice = [str(name) for name in OccurrenceClass if allowed is None or name in allowed]
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in choice:
            raise ConfigError(f"{option}: no class {name!r}; write one of {', '.join(choice)}")
    return tuple(OccurrenceClass(name) for name in names)


def _quiet(_: object) -> None:
    """A command prints its own report; events are for processes that stay."""
