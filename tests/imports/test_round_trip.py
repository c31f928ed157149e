"""Crontabs that we wrote: every instant of two years is what an independent reading makes of it.

The independent reading splits the lines by itself and asks cronsim, an executable twin of Debian's
cron. Lines that run very often are compared in the weeks around each clock change; the whole two
years of those are compared by `make test-all`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cronsim import CronSim
from import_sources import CASES, imported, loaded, owed

import oracle
from cronledger.adapters.imports.model import Origin
from cronledger.core.instants import Window, to_epoch
from cronledger.core.schedule import ScheduleFile

TABLES = sorted((CASES / "own").iterdir())
START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 1, 1, tzinfo=UTC)
OFTEN = 5000
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def lines(table: Path) -> Iterator[tuple[int, str, str]]:
    """Number, five fields and zone of each line of a table, read without our importer."""
    zone = "UTC"
    for number, line in enumerate(table.read_text("utf-8").splitlines(), 1):
        named = re.match(r"\s*CRON_TZ\s*=\s*['\"]?([\w/]*)", line)
        if named:
            zone = named[1] or "UTC"
        elif re.match(r"\s*[\d*@]", line):
            words = line.split()
            yield number, MACROS.get(words[0]) or " ".join(words[:5]), zone


def simulated(text: str, zone: str, start: datetime, end: datetime) -> list[int]:
    """The epochs in `[start, end)` by cronsim, in the zone of the pinned wheel."""
    found: list[int] = []
    for moment in CronSim(text, (start - timedelta(minutes=1)).astimezone(oracle.pinned(zone))):
        if moment >= end:
            break
        if moment >= start:
            found.append(to_epoch(moment))
    return found


def read(table: Path) -> tuple[ScheduleFile, dict[int, str]]:
    origin = Origin.CRON_D if table.suffix == ".cron" else Origin.CRONTAB
    found = imported(origin, table.read_bytes())
    return loaded(found), {entry.line: entry.id for entry in found.entries}


def windows(zone: str) -> Iterator[tuple[datetime, datetime]]:
    """A day at each end, and the days around every clock change."""
    yield START, START + timedelta(days=1)
    day = START
    while day < END:
        after = day + timedelta(days=1)
        offsets = {oracle.offset_at(oracle.pinned(zone), to_epoch(at)) for at in (day, after)}
        if len(offsets) > 1:
            yield day - timedelta(days=1), after + timedelta(days=1)
        day = after
    yield END - timedelta(days=1), END


def test_at_least_two_hundred_lines_are_carried_and_none_is_refused() -> None:
    names = [name for table in TABLES for name in read(table)[0].schedules]
    assert len(names) >= 200
    for table in TABLES:
        assert list(read(table)[1]) == [number for number, _, _ in lines(table)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_instant_of_two_years_is_kept(table: Path) -> None:
    file, names = read(table)
    for number, text, zone in lines(table):
        ours = owed(file, names[number], Window(START, END))
        if len(ours) <= OFTEN:
            assert ours == simulated(text, zone, START, END), f"{table.name}:{number}"
            continue
        for start, end in windows(zone):
            part = owed(file, names[number], Window(start, end))
            assert part == simulated(text, zone, start, end), f"{table.name}:{number}"


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_instant_of_lines_that_run_often_is_kept(table: Path) -> None:
    file, names = read(table)
    done: set[tuple[str, str]] = set()
    for number, text, zone in lines(table):
        ours = owed(file, names[number], Window(START, END))
        if len(ours) > OFTEN and (text, zone) not in done:
            done.add((text, zone))
            assert ours == simulated(text, zone, START, END), f"{table.name}:{number}"
