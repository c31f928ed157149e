"""The page about clock changes: each row of its tables is run, and by the oracle as well."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

import oracle
from commands import Cli
from cronledger.adapters.config.load import parse
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expand import Occurrence, expand
from cronledger.core.instants import Window, format_instant
from cronledger.core.schedule import DST_PRESETS, Schedule

PAGE = (Path(__file__).parents[2] / "docs" / "dst.md").read_text(encoding="utf-8")
ZONES = PinnedZones()
PLACES = {
    "New_York",
    "Berlin",
    "Lord_Howe",
    "Troll",
    "Dublin",
    "Sao_Paulo",
    "Santiago",
    "Apia",
    "Cairo",
    "Nuuk",
    "Kathmandu",
}


class Row(NamedTuple):
    """A row of a table, its cells as they are written."""

    schedule: str
    zone: str
    local_time: str
    dst: str
    keys: str


ROWS = [
    Row(*(cell.strip().strip("`") for cell in line.strip("|").split("|")))
    for line in PAGE.splitlines()
    if re.match(r"\| `(cron|every): ", line)
]


def loaded(row: Row) -> Schedule:
    job = f"{{{row.schedule}, timezone: {row.zone}, dst: {row.dst}}}"
    text = f"version: 1\nschedules:\n  job: {job}\n"
    return parse(text.encode(), "page.yaml", ZONES).schedules["job"]


def span(row: Row) -> tuple[datetime, datetime]:
    """The first and the last wall time of a row, both included."""
    first, _, last = row.local_time.partition(" to ")
    start = datetime.fromisoformat(first)
    if not last:
        return start, start + timedelta(days=1, seconds=-1)
    return start, datetime.fromisoformat(f"{first[:10]} {last}")


def around(row: Row) -> Window:
    """Instants that hold the row's wall times in every zone."""
    first = span(row)[0].replace(tzinfo=UTC)
    return Window(first - timedelta(days=2), first + timedelta(days=3))


def owed(row: Row) -> list[Occurrence]:
    first, last = span(row)
    found = expand(loaded(row).timing, ZONES.load(row.zone), around(row))
    return [occurrence for occurrence in found if first <= occurrence.local_time <= last]


def written(occurrence: Occurrence) -> str:
    said = ["moved"] * occurrence.moved
    said += [f"{occurrence.collapsed} in one"] * (occurrence.collapsed > 1)
    note = f" ({', '.join(said)})" if said else ""
    return format_instant(occurrence.logical_time) + note


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:4]))
def test_a_row_says_what_is_owed(row: Row) -> None:
    assert row.keys == ("<br>".join(map(written, owed(row))) or "none")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.schedule.startswith("cron")], ids=" ".join
)
def test_the_oracle_owes_the_same_in_a_row(row: Row) -> None:
    dst = loaded(row).timing.dst
    minute, hour, day, month, weekday = row.schedule.split('"')[1].split()
    landed = oracle.walk(
        oracle.Expression(minute, hour, day, month, weekday),
        oracle.Policies(dst.gap.value, dst.fold.value, dst.wildcard.value),
        oracle.pinned(row.zone),
        *around(row).epochs(),
    )
    first, last = span(row)
    told = []
    for epoch, landing in landed.items():
        instant = datetime.fromtimestamp(epoch, UTC)
        if first <= instant.astimezone(oracle.pinned(row.zone)).replace(tzinfo=None) <= last:
            told.append((epoch, not landing.own, landing.collapsed))
    assert told == [(found.instant, found.moved, found.collapsed) for found in owed(row)]


def test_the_rows_cover_every_policy_and_every_kind_of_change() -> None:
    assert len(ROWS) >= 20
    assert {row.zone.split("/")[1] for row in ROWS} == PLACES
    assert {*DST_PRESETS} <= {row.dst for row in ROWS}
    for part, values in {
        "gap": ("skip", "shift", "next"),
        "fold": ("first", "second", "both"),
        "wildcard": ("elapsed", "star", "same"),
    }.items():
        assert {f"{{{part}: {value}}}" for value in values} <= {row.dst for row in ROWS}


def test_the_presets_are_those_of_the_program() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (\w+, \w+, \w+) \|", PAGE, re.MULTILINE))
    assert listed == {
        name: f"{dst.gap.value}, {dst.fold.value}, {dst.wildcard.value}"
        for name, dst in DST_PRESETS.items()
    }


def test_next_shows_what_the_page_shows(cli: Cli, tmp_path: Path) -> None:
    blocks = dict(re.findall(r"```(yaml|text)\n(.*?)```", PAGE, re.DOTALL))
    file = tmp_path / "schedules.yaml"
    file.write_text(blocks["yaml"])
    answer = cli("next", file, "--from", "2026-03-28T12:00:00Z", "-n", "2")
    assert answer.code == 0
    shown = [line.rstrip() for line in answer.out.splitlines()]
    assert shown == blocks["text"].splitlines()
