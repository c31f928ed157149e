"""Options and arguments that several commands share, and what they mean."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli.render import Format
from cronledger.core.instants import Window, parse_duration, parse_instant
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.audit import By
    from cronledger.core.schedule import ScheduleFile
    from cronledger.ports import Zones
    from cronledger.wiring import Store

DEFAULT_FILE = Path("schedules.yaml")
# Commands that are a span each, if somebody collects traces.
TRACED = ("tick", "reconcile", "backfill", "trigger")
DURATION_MAX = timedelta(weeks=1000)

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE] [SCHEDULE]...", help="The schedule file, then schedules of it."),
]
FileArgument = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="The schedule file.", show_default=False)
]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to write the answer.")]
From = Annotated[
    str | None, typer.Option("--from", help="Start (inclusive), UTC if it has no zone.")
]
To = Annotated[str | None, typer.Option("--to", help="End (exclusive); now, if not given.")]
Since = Annotated[
    str | None, typer.Option("--since", help="Instead of --from: this long ago (7d).")
]
Database = Annotated[
    str | None,
    typer.Option("--database", help="URL, or `embedded`.", show_default=False),
]

Replace = Annotated[
    bool,
    typer.Option("--replace", help="Load a file that has none of the schedules in force."),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the audit table.")]
Actor = Annotated[str | None, typer.Option("--actor", help="Who; your login name, if not given.")]


@dataclass(slots=True)
class Context:
    """What the options before the command said."""

    database: str | None = None
    config: Path | None = None


def context(ctx: typer.Context) -> Context:
    """The options before the command."""
    found = ctx.find_root().obj
    assert isinstance(found, Context)
    return found


def file_path(ctx: typer.Context, given: Path | None) -> Path:
    """FILE, else --config, else schedules.yaml."""
    return given or context(ctx).config or DEFAULT_FILE


def split_words(ctx: typer.Context, words: Sequence[str] | None) -> tuple[Path, list[str]]:
    """The file and the schedules named: a first word that is a file, or ends like one, is FILE."""
    rest = list(words or ())
    if rest and (rest[0].endswith((".yaml", ".yml")) or Path(rest[0]).is_file()):
        return Path(rest[0]), rest[1:]
    return file_path(ctx, None), rest


def load(path: Path) -> tuple[ScheduleFile, Zones]:
    """The schedule file and the zone data it was checked against."""
    from cronledger import wiring

    zones = wiring.zones()
    return wiring.load_file(path, zones), zones


def pick(file: ScheduleFile, names: Sequence[str]) -> list[str]:
    """The schedules named, all if none is; one with parameters stands for all combinations."""
    from difflib import get_close_matches

    from cronledger.core.parameters import declared

    chosen: list[str] = []
    for name in names:
        found = [id_ for id_ in file.schedules if name in (id_, declared(id_))]
        if not found:
            close = get_close_matches(name, file.schedules, 1)
            hint = f"did you mean {close[0]!r}?" if close else "`check` lists what the file has"
            raise ConfigError(f"{file.path} has no schedule {name!r}; {hint}")
        chosen += found
    return chosen or list(file.schedules)


@contextmanager
def database(ctx: typer.Context, given: str | None, purpose: str) -> Iterator[Store]:
    """The database, with every migration applied; closed at the end."""
    from cronledger import observing, wiring

    store = wiring.store(given or context(ctx).database, purpose)
    try:
        store.check()
        if ctx.info_name in TRACED:
            with observing.telemetry().span(ctx.info_name):
                yield store
        else:
            yield store
    finally:
        store.close()
        observing.end_telemetry()


def instant(text: str, option: str) -> datetime:
    """The UTC instant that an option names; one without a zone is UTC."""
    try:
        parsed = parse_instant(text)
    except ValueError as error:
        raise ConfigError(f"{option}: {error}") from None
    try:
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except OverflowError:  # a zone beside the first or the last day that dates have
        raise ConfigError(f"{option}: {text!r} is no time in UTC; write one with Z") from None


def duration(text: str, option: str) -> timedelta:
    """The span that an option names; one that no date could be moved by is refused."""
    try:
        span = parse_duration(text)
    except ValueError as error:
        raise ConfigError(f"{option}: {error}") from None
    if span > DURATION_MAX:
        raise ConfigError(f"{option}: {text} is too long; write at most P1000W")
    return span


def window(
    now: datetime, start: str | None, end: str | None, since: str | None, default: timedelta
) -> Window:
    """The window that --from, --to and --since describe; without any, the `default` up to now."""
    if start is not None and since is not None:
        raise ConfigError("--from and --since say the same thing; give one of them")
    upper = instant(end, "--to") if end is not None else now
    if start is not None:
        lower = instant(start, "--from")
    else:
        lower = now - (duration(since, "--since") if since is not None else default)
    try:
        return Window(lower, upper)
    except ValueError as error:
        raise ConfigError(f"--from, --to: {error}") from None


def by_whom(actor: str | None, reason: str) -> By:
    """Who changes something by hand, and why; both are kept."""
    from cronledger.core.audit import By

    try:
        return By(actor or getpass.getuser(), reason)
    except ValueError as error:
        raise ConfigError(str(error)) from None
