"""Imports in tests: from text or from the cases, with the real zones, loader and expander."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path

from cronledger.adapters.config.load import parse
from cronledger.adapters.imports.convert import Asked, convert
from cronledger.adapters.imports.model import Entry, Imported, Origin
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expand import instants
from cronledger.core.instants import Window
from cronledger.core.schedule import ScheduleFile

CASES = Path(__file__).parents[1] / "cases" / "imports"


@cache
def zones() -> PinnedZones:
    return PinnedZones()


def imported(
    origin: Origin, source: str | bytes, timezone: str | None = None, path: str = "source"
) -> Imported:
    data = source if isinstance(source, bytes) else source.encode()
    return convert(data, Asked(origin, path, timezone), zones())


def one(origin: Origin, source: str, timezone: str | None = None) -> Entry:
    """The only entry of a source; what is carried passes the loader."""
    found = imported(origin, source, timezone)
    loaded(found)
    (entry,) = found.entries
    return entry


def codes(entry: Entry) -> list[str]:
    return [caution.code for caution in entry.cautions]


def about(found: Imported) -> list[str]:
    """The codes that are said about the source as a whole."""
    return [caution.code for caution in found.cautions]


def loaded(found: Imported) -> ScheduleFile:
    """The schedule file that an import wrote, by the real loader: nothing in it is refused."""
    file = parse(found.text.encode(), "imported.yaml", zones())
    assert list(file.schedules) == [entry.id for entry in found.entries if not entry.refusal]
    return file


def owed(file: ScheduleFile, name: str, window: Window) -> list[int]:
    timing = file.schedules[name].timing
    return instants(timing, zones().load(timing.timezone), window)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text)
