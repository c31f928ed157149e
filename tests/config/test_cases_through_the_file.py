"""The public cases through the real file: loaded, expanded, or refused with what to write."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronledger.adapters.config.load import parse
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expand import expand
from cronledger.core.instants import Window, format_instant
from cronledger.errors import ConfigError

CASES_FILE = Path(__file__).parent.parent / "cases" / "schedules.yaml"
CASES = [
    case
    for case in yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]
    if case["kind"] == "cron"
]
ZONES = PinnedZones()


def _file(case: dict[str, Any]) -> bytes:
    return yaml.safe_dump({"version": 1, "schedules": {"it": case["schedule"]}}).encode()


def _window(case: dict[str, Any]) -> Window:
    return Window(*(datetime.fromisoformat(case["window"][end]) for end in ("start", "end")))


def test_the_case_file_is_whole() -> None:
    assert len(CASES) == 80
    assert sum("check" in case for case in CASES) == 2


@pytest.mark.parametrize(
    "case", [case for case in CASES if "check" not in case], ids=lambda case: case["id"]
)
def test_a_schedule_of_the_file_yields_the_right_instants(case: dict[str, Any]) -> None:
    timing = parse(_file(case), "case.yaml", ZONES).schedules["it"].timing
    found = [
        format_instant(occurrence.logical_time)
        for occurrence in expand(timing, ZONES.load(timing.timezone), _window(case))
    ]
    if "expected_utc" in case:
        assert found == case["expected_utc"]
    else:
        edges = (len(found), found[0], found[-1])
        assert edges == (case["expected_count"], case["first_utc"], case["last_utc"])


@pytest.mark.parametrize(
    "case", [case for case in CASES if "check" in case], ids=lambda case: case["id"]
)
def test_a_schedule_that_must_be_refused_is_with_a_way_out(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(_file(case), "case.yaml", ZONES)
    (problem,) = refused.value.problems
    assert (problem.subject, problem.line >= 1, problem.column >= 1) == ("it", True, True)
    assert ";" in problem.message
