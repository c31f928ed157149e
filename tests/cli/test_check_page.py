"""The page about `check` names every code, and its examples say what the page says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronledger.adapters.config.load import parse_placed
from cronledger.adapters.second_opinion import SecondOpinion
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expected import Standing
from cronledger.core.findings import CODES
from cronledger.core.instants import Zone
from cronledger.core.lint import lint
from cronledger.core.moves import ending, moved_keys
from cronledger.core.schedule import ScheduleFile, Version
from cronledger.core.timeline import ALWAYS

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `([a-z-]+)`\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
ZONES = PinnedZones()
NOW = datetime(2026, 12, 1, tzinfo=UTC)
# What the ledger was last given; most examples have other schedules, so they would end it.
EARLIER, _ = parse_placed(
    b"""version: 1
schedules:
  nightly: {cron: "30 5 * * *", timezone: Europe/Berlin}
  weekly: {cron: "0 6 * * 1", timezone: Europe/Berlin}
""",
    "schedules.yaml",
    ZONES,
)


def standings(file: ScheduleFile) -> dict[str, Standing]:
    """A ledger that loaded the file when Berlin's clock was said to stay an hour ahead."""
    zone = Zone("Europe/Berlin", "2020a", (), (3600,))
    return {
        schedule.id: Standing(1, schedule.id, NOW, (Version(1, ALWAYS, None, timing, zone),))
        for schedule in file.schedules.values()
        if (timing := schedule.timing).timezone == zone.name
    }


def said(text: str, code: str) -> str:
    file, places = parse_placed(text.encode(), "schedules.yaml", ZONES)
    found = lint(file.schedules, ZONES.load, NOW)
    found += moved_keys(file.schedules.values(), standings(file), ZONES.load, NOW)
    found += ending(file.schedules, standings(EARLIER))
    found += SecondOpinion(ZONES.data).of(file.schedules, ZONES.load, NOW).findings
    lines = []
    for finding in found:
        line, column = places.of(finding.schedule, finding.path, finding.offset)
        subject = f"{finding.schedule}: " if finding.schedule else ""
        place = f"schedules.yaml:{line}:{column}: {subject}"
        lines.append(f"{place}{finding.severity}: {finding.message} [{finding.code}]\n")
    return "".join(line for line in lines if line.endswith(f"[{code}]\n"))


def test_every_code_has_its_section_and_no_section_is_without_a_code() -> None:
    assert set(SECTIONS) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_a_code_says_what_the_page_says(code: str) -> None:
    blocks = dict(re.findall(r"```(yaml|text)\n(.*?)```", SECTIONS[code], re.DOTALL))
    assert blocks["text"] == said(blocks["yaml"], code)
