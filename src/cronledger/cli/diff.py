"""`diff`: the keys that an edit of the schedule file adds, removes and moves, for code review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import Database, From, database, instant
from cronledger.cli.render import Format
from cronledger.core.instants import Window, format_duration, format_instant, from_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.edits import Edit, QueueEdit, Setting
    from cronledger.ports import Zones

DEFAULT_SPAN = timedelta(days=30)
# Beyond it a schedule of every second has more keys than anyone compares.
WINDOW_MAX = timedelta(days=731)
# Of each schedule; the machine format has them all.
KEYS_SHOWN = 10
VALUE_SHOWN = 60


class DiffFormat(StrEnum):
    """How `diff` answers."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def diff(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="[OLD] NEW", help="The file as it was, and as it will be."),
    ],
    ledger: Annotated[
        bool, typer.Option("--ledger", help="In place of OLD: what the database has in force.")
    ] = False,
    start: From = None,
    end: Annotated[
        str | None, typer.Option("--to", help="End (exclusive); 30 days on, if not given.")
    ] = None,
    database_url: Database = None,
    output: Annotated[
        DiffFormat, typer.Option("--output", "-o", help="How to write the answer.")
    ] = DiffFormat.TABLE,
) -> None:
    """The keys that an edit adds, removes and moves; exit 1 if it changes anything."""
    from cronledger import wiring

    if len(files) != (1 if ledger else 2):
        raise ConfigError("diff compares two files; give OLD and NEW, or --ledger and NEW")
    zones = wiring.zones()
    window = _window(start, end, wiring.clock().now())
    edits, queues = (
        (_against_ledger(ctx, database_url, files[0], zones, window), [])
        if ledger
        else _between(files[0], files[1], zones, window)
    )
    match output:
        case DiffFormat.JSON:
            _show_json(edits, queues, window)
        case DiffFormat.MARKDOWN:
            for line in _markdown(edits, queues, window):
                render.say(line)
        case DiffFormat.TABLE:
            for line in _table(edits, queues, window):
                render.say(line)
    if edits or queues:
        raise typer.Exit(1)


def _between(
    old: Path, new: Path, zones: Zones, window: Window
) -> tuple[list[Edit], list[QueueEdit]]:
    from cronledger import wiring
    from cronledger.core.edits import compare_queues, compare_schedules

    before, after = (wiring.load_file(path, zones) for path in (old, new))
    return (
        list(compare_schedules(before.schedules, after.schedules, zones.load, window)),
        list(compare_queues(before.queues, after.queues)),
    )


def _against_ledger(
    ctx: typer.Context, database_url: str | None, new: Path, zones: Zones, window: Window
) -> list[Edit]:
    """What loading the file would change: only keys, for the ledger keeps no other setting."""
    from cronledger import wiring
    from cronledger.core.edits import compare_versions
    from cronledger.core.timeline import timeline

    file = wiring.load_file(new, zones)
    with database(ctx, database_url, "diff") as store:
        held = {standing.name: standing.versions for standing in store.ledger().standings()}
    wanted = {schedule.id: timeline(schedule) for schedule in file.schedules.values()}
    return list(compare_versions(held, wanted, zones.load, window))


def _window(start: str | None, end: str | None, now: datetime) -> Window:
    first = instant(start, "--from") if start is not None else now
    try:
        last = instant(end, "--to") if end is not None else first + DEFAULT_SPAN
        window = Window(first, last)
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"--from, --to: {error}") from None
    if last - first > WINDOW_MAX:
        raise ConfigError("--from, --to: more than two years lie between them; give a shorter span")
    return window


def _show_json(edits: Sequence[Edit], queues: Sequence[QueueEdit], window: Window) -> None:
    rows = [edit_row(edit) for edit in edits]
    extra = {
        "window": {"from": format_instant(window.start), "to": format_instant(window.end)},
        "queues": [
            {
                "queue": edit.queue,
                "change": edit.change,
                "settings": [_setting_row(setting) for setting in edit.settings],
            }
            for edit in queues
        ],
    }
    render.show(Format.JSON, "edits", rows, (), extra)


def edit_row(edit: Edit) -> dict[str, Any]:
    """One edit as the machine format has it."""
    return {
        "schedule": edit.schedule,
        "change": edit.change,
        "added": [_key(edit, at) for at in edit.added],
        "removed": [_key(edit, at) for at in edit.removed],
        "moved": [{"from": _key(edit, a), "to": _key(edit, b)} for a, b in edit.moved],
        "settings": [_setting_row(setting) for setting in edit.settings],
    }


def _setting_row(setting: Setting) -> dict[str, str | None]:
    return {"name": setting.name, "old": _value(setting.old), "new": _value(setting.new)}


def _table(edits: Sequence[Edit], queues: Sequence[QueueEdit], window: Window) -> Iterator[str]:
    for edit in edits:
        yield f"{edit.schedule}: {edit.change}{counted(edit)}"
        for line in key_lines(edit):
            yield f"  {line}"
        for setting in edit.settings:
            yield f"  setting  {_said(setting)}"
    for queue in queues:
        yield f"queue {queue.queue}: {queue.change}"
        for setting in queue.settings:
            yield f"  setting  {_said(setting)}"
    yield _summary(edits, queues, window)


def _markdown(edits: Sequence[Edit], queues: Sequence[QueueEdit], window: Window) -> Iterator[str]:
    """A table of counts, and below it the keys of each schedule, folded away."""
    yield _summary(edits, queues, window)
    if not edits and not queues:
        return
    yield "\n| what | change | added | removed | moved | settings |\n|---|---|---|---|---|---|"
    for edit in edits:
        counts = f"{len(edit.added)} | {len(edit.removed)} | {len(edit.moved)}"
        yield f"| `{edit.schedule}` | {edit.change} | {counts} | {_cell(edit.settings)} |"
    for queue in queues:
        yield f"| queue `{queue.queue}` | {queue.change} | - | - | - | {_cell(queue.settings)} |"
    for edit in edits:
        keys = list(key_lines(edit))
        if keys:
            summary = f"<summary>{edit.schedule}{counted(edit)}</summary>"
            yield "\n".join(["", f"<details>{summary}", "", "```text", *keys, "```", "</details>"])


def _cell(settings: Sequence[Setting]) -> str:
    """Settings in one cell; code may hold a bar only behind a backslash, and no backquote."""
    said = (_said(setting).replace("`", "'").replace("|", "\\|") for setting in settings)
    return "<br>".join(f"`{text}`" for text in said)


def key_lines(edit: Edit) -> Iterator[str]:
    """A line for each key, the first of each kind."""
    moved = [f"{_key(edit, a)} -> {format_instant(from_epoch(b))}" for a, b in edit.moved]
    kinds = {
        "removed": [_key(edit, at) for at in edit.removed],
        "added": [_key(edit, at) for at in edit.added],
        "moved": moved,
    }
    for kind, lines in kinds.items():
        for line in lines[:KEYS_SHOWN]:
            yield f"{kind:<8} {line}"
        if len(lines) > KEYS_SHOWN:
            yield f"{kind:<8} and {len(lines) - KEYS_SHOWN} more; -o json lists all"


def _key(edit: Edit, at: int) -> str:
    return str(OccurrenceKey(edit.schedule, from_epoch(at)))


def counted(edit: Edit) -> str:
    """How many keys an edit touches, in words that follow its name."""
    kinds = (("removed", edit.removed), ("added", edit.added), ("moved", edit.moved))
    counts = [f"{len(keys)} {kind}" for kind, keys in kinds if keys]
    return f"; keys: {', '.join(counts)}" if counts else "; no key moves"


def _said(setting: Setting) -> str:
    old, new = (_value(side) for side in (setting.old, setting.new))
    return f"{setting.name}: {old or 'none'} -> {new or 'none'}"


def _value(value: Any) -> str | None:
    """A setting as people write it; None for none."""
    if value is None or value in ((), frozenset()):
        return None
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, frozenset | tuple):
        text = f"{len(value)} entries" if len(value) > 1 else "1 entry"
    else:
        text = str(value)
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}..."


def _summary(edits: Sequence[Edit], queues: Sequence[QueueEdit], window: Window) -> str:
    span = f"{format_instant(window.start)} to {format_instant(window.end)}"
    if not edits and not queues:
        return f"{span}: no difference"
    changes = [edit.change for edit in edits]
    schedules = ", ".join(
        f"{changes.count(change)} {change}"
        for change in ("removed", "added", "changed")
        if change in changes
    )
    totals = [sum(len(getattr(e, kind)) for e in edits) for kind in ("removed", "added", "moved")]
    keys = "keys: {} removed, {} added, {} moved".format(*totals)
    return f"{span}: schedules: {schedules or 'none changed'}; {keys}"
