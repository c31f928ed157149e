"""Commands that need no database: init, next, expand."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.export import write
from cronledger.cli.options import (
    FileArgument,
    From,
    Output,
    Words,
    file_path,
    instant,
    load,
    pick,
    split_words,
    window,
)
from cronledger.cli.render import Format
from cronledger.core.instants import format_epoch
from cronledger.errors import ConfigError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cronledger.core.expand import Occurrence

COLUMNS = ("key", "local_time", "utc_offset", "note")
LIMIT_MAX = 10_000


def init(
    ctx: typer.Context,
    file: FileArgument = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a commented schedules.yaml to start from, and the schema that editors read with it."""
    from cronledger import wiring

    path = file_path(ctx, file)
    schema = path.with_suffix(".schema.json")
    if path.exists() and not force:
        raise RefusedError(f"{path} exists; give another name, or --force to overwrite it")
    modeline = f"# yaml-language-server: $schema=./{schema.name}\n"
    write(path, modeline + wiring.sample_file())
    if force or not schema.exists():
        write(schema, wiring.file_schema())
    render.tell(f"wrote {path}; next: cronledger check {path}")


def next_(
    ctx: typer.Context,
    words: Words = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=LIMIT_MAX)] = 5,
    start: Annotated[str | None, typer.Option("--from", help="After this instant; now.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """The next occurrences of each schedule, local and UTC, with what a clock change does."""
    from cronledger import wiring
    from cronledger.core.timeline import next_owed, timeline

    path, names = split_words(ctx, words)
    file, zones = load(path)
    after = instant(start, "--from") if start else wiring.clock().now()
    found = [
        (name, occurrence)
        for name in pick(file, names)
        for occurrence in next_owed(timeline(file.schedules[name]), after, count, zones.load)
    ]
    _show(output, found)


def expand(
    ctx: typer.Context,
    words: Words = None,
    start: From = None,
    end: Annotated[str | None, typer.Option("--to", help="End (exclusive).")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Every expected key of a window, by the file as it stands."""
    if start is None or end is None:
        raise ConfigError("expand needs a window; give --from and --to")
    path, names = split_words(ctx, words)
    with _without_gc():
        _expand(path, names, start, end, output)


@contextmanager
def _without_gc() -> Iterator[None]:
    """What ends soon gains nothing by looking for cycles, which costs a long list a quarter."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _expand(path: Path, names: Sequence[str], start: str, end: str, output: Format) -> None:
    from cronledger.core.timeline import occurrences, timeline

    file, zones = load(path)
    chosen = window(instant(end, "--to"), start, end, None, timedelta(0))
    found = [
        (name, occurrence)
        for name in pick(file, names)
        for occurrence in occurrences(timeline(file.schedules[name]), chosen, zones.load)
    ]
    _show(output, found)


def _show(output: Format, found: Sequence[tuple[str, Occurrence]]) -> None:
    if output is not Format.TABLE or not found:
        rows = [occurrence_row(name, occurrence) for name, occurrence in found]
        render.show(output, "occurrences", rows, COLUMNS)
        return
    # By column and without a row for each: a day of a large file has half a million.
    columns = zip(*(_cells(name, occurrence) for name, occurrence in found), strict=True)
    named = zip(COLUMNS, columns, strict=True)
    render.write(render.aligned([(render.head(name), *cells) for name, cells in named]))


def _cells(schedule: str, occurrence: Occurrence) -> tuple[str, str, str, str]:
    """What `COLUMNS` show of an occurrence."""
    local = format_epoch(occurrence.instant + occurrence.offset)
    return (
        f"{schedule}:{format_epoch(occurrence.instant)}",
        f"{local[:10]} {local[11:19]}",
        offset_text(occurrence.offset),
        note(occurrence),
    )


def occurrence_row(schedule: str, occurrence: Occurrence) -> dict[str, Any]:
    """One expected occurrence as commands show it."""
    instant = format_epoch(occurrence.instant)
    return {
        "key": f"{schedule}:{instant}",
        "schedule": schedule,
        "logical_time": instant,
        "local_time": occurrence.local_time,
        "utc_offset": offset_text(occurrence.offset),
        "fold": bool(occurrence.fold),
        "moved": occurrence.moved,
        "collapsed": occurrence.collapsed,
        "note": note(occurrence),
    }


@cache
def offset_text(seconds: int) -> str:
    """Seconds east of UTC as people write it: `+05:30`, `-00:44:30`."""
    sign = "-" if seconds < 0 else "+"
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{rest:02d}" if rest else text


def note(occurrence: Occurrence) -> str:
    """What a clock change did to an occurrence, in words; "" if nothing."""
    said = []
    if occurrence.moved:
        said.append("moved: the clock skips its time of day")
    if occurrence.fold:
        said.append("second pass of a repeated hour")
    if occurrence.collapsed > 1:
        said.append(f"{occurrence.collapsed} times of day in one")
    return "; ".join(said)
