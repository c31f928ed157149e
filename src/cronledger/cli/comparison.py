"""What reconcile and backfill compare: the file's schedules over a window, as a command asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import Words, database, load, pick, split_words, window
from cronledger.core.instants import Window, format_instant
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.diff import OccurrenceClass
    from cronledger.core.schedule import ScheduleFile
    from cronledger.flows.reconcile import Details, Drift
    from cronledger.ports import Ledger, Zones

DEFAULT_SINCE = timedelta(days=7)
After = Annotated[
    str | None, typer.Option("--after", help="Go on after this key, where a run stopped.")
]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a command compares: the file's schedules (all that the ledger knows if `only` is None)
    over a window, as of `now`. `reached`: the last key looked at, if it was interrupted."""

    file: ScheduleFile
    zones: Zones
    ledger: Ledger
    window: Window
    now: datetime
    drifts: list[Drift]
    reached: OccurrenceKey | None = None

    def counts(self) -> Counter[OccurrenceClass]:
        """How many keys are in each class, shown or not."""
        found: Counter[OccurrenceClass] = Counter()
        for drift in self.drifts:
            found.update(drift.counts)
        return found

    def in_short(self, counts: Counter[OccurrenceClass]) -> dict[str, Any]:
        """What a machine reads of a report beside its keys."""
        from cronledger.core.diff import OccurrenceClass

        return {
            "now": self.now,
            "window": {"from": self.window.start, "to": self.window.end},
            "summary": {str(word): counts[word] for word in OccurrenceClass},
            "interrupted_after": str(self.reached) if self.reached else None,
        }


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
        strange = set(only or file.schedules) - {drift.schedule for drift in drifts}
        for name in sorted(strange) if reached is None and asked.after is None else ():
            render.tell(
                f"{name} was never loaded, so it owes nothing yet; `tick` or `run` loads it"
            )
        yield Comparison(file, zones, ledger, chosen, now, drifts, reached)


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
