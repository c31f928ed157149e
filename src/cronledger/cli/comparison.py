"""What reconcile and backfill compare: the file's schedules over a window, as a command asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from cronledger.cli import render
from cronledger.cli.options import Words, database, load, pick, split_words, window
from cronledger.core.instants import Window, format_instant
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.diff import OccurrenceClass
    from cronledger.core.expected import Standing
    from cronledger.core.schedule import ScheduleFile
    from cronledger.flows.reconcile import Details, Drift
    from cronledger.ports import Ledger, Zones
    from cronledger.wiring import Store

DEFAULT_SINCE = timedelta(days=7)
After = Annotated[
    str | None, typer.Option("--after", help="Go on after this key, where a run stopped.")
]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a command compares: the file's schedules (all that the ledger knows if `only` is None)
    over a window, as of `now`. `selected`: those that were named, () is all. `never_loaded`: those
    that the ledger lacks. `reached`: the last key looked at, if it was interrupted."""

    file: ScheduleFile
    zones: Zones
    ledger: Ledger
    window: Window
    now: datetime
    store: Store
    selected: tuple[str, ...]
    standings: tuple[Standing, ...]
    never_loaded: tuple[str, ...]
    drifts: list[Drift]
    reached: OccurrenceKey | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """`bounds`: from, to and since as typed. `details`: of which keys there shall be findings.
    `after`: where to go on. `partly`: what was compared until an interruption is of use."""

    bounds: tuple[str | None, str | None, str | None]
    details: Details = False
    after: str | None = None
    partly: bool = False


@contextmanager
def compared(
    ctx: typer.Context,
    database_url: str | None,
    words: Words,
    asked: Asked,
) -> Iterator[Comparison]:
    """The comparison that a command asked for; its database is open meanwhile."""
    from cronledger.flows.reconcile import reconcile as compare
    from cronledger.flows.slicing import Rest

    path, names = split_words(ctx, words)
    file, zones = load(path)
    with database(ctx, database_url, "reconcile") as store:
        ledger = store.ledger()
        only = _chosen(file, names, ledger)
        now = ledger.now()
        chosen = window(now, *asked.bounds, DEFAULT_SINCE)
        left = chosen if asked.after is None else Rest(chosen, _key(asked.after))
        found = compare(file.schedules, ledger, zones, left, only=only, details=asked.details)
        drifts, reached = _until_interrupted(found) if asked.partly else (list(found), None)
        standings = ledger.standings(only)
        strange = sorted(set(only or file.schedules) - {standing.name for standing in standings})
        for name in strange if reached is None and asked.after is None else ():
            render.tell(
                f"{name} was never loaded, so it owes nothing yet; `tick` or `run` loads it"
            )
        yield Comparison(
            file, zones, ledger, chosen, now, store, tuple(only or ()), standings, tuple(strange),
            drifts, reached,
        )  # fmt: skip


def _until_interrupted(found: Iterable[Drift]) -> tuple[list[Drift], OccurrenceKey | None]:
    """What was compared, and how far it came if somebody interrupted it after the first."""
    drifts: list[Drift] = []
    try:
        drifts.extend(found)
    except KeyboardInterrupt:
        if not drifts:
            raise
        return drifts, drifts[-1].reached
    return drifts, None


def _key(text: str) -> OccurrenceKey:
    try:
        return OccurrenceKey.parse(text)
    except ValueError as error:
        raise ConfigError(f"--after: {error}") from None


def end_if_interrupted(compared: Comparison) -> None:
    """Say what to add to the command for the rest, and end as one that was interrupted."""
    if compared.reached is None:
        return
    window = compared.window
    render.tell(
        f"interrupted after {compared.reached}; the rest: --from {format_instant(window.start)} "
        f"--to {format_instant(window.end)} --after {compared.reached}"
    )
    raise KeyboardInterrupt


def _chosen(file: ScheduleFile, names: Sequence[str], ledger: Ledger) -> list[str] | None:
    """The schedules named, of the file or ended in the ledger; None is all."""
    ended = {s.name for s in ledger.standings(names)} - set(file.schedules) if names else set()
    in_file = [name for name in names if name not in ended]
    return [*(pick(file, in_file) if in_file else ()), *sorted(ended)] if names else None


def classes(
    text: str, option: str, allowed: Collection[str] | None = None
) -> tuple[OccurrenceClass, ...]:
    """The classes that an option names."""
    from cronledger.core.diff import OccurrenceClass

    choice = [str(name) for name in OccurrenceClass if allowed is None or name in allowed]
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in choice:
            raise ConfigError(f"{option}: no class {name!r}; write one of {', '.join(choice)}")
    return tuple(OccurrenceClass(name) for name in names)
