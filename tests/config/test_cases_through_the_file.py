"""The public cases through the real file: loaded, expanded, or refused with what to write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronledger.adapters.config.load import parse
from cronledger.adapters.zones import PinnedZones
from cronledger.core.expected import expected as keys_of
from cronledger.core.instants import Window, format_instant
from cronledger.core.spec import from_spec, to_spec
from cronledger.core.timeline import next_owed, occurrences, timeline
from cronledger.errors import ConfigError

CASES_FILE = Path(__file__).parent.parent / "cases" / "schedules.yaml"
KINDS = {"cron": 80, "interval": 8, "rrule": 11, "calendar": 1, "edit": 5}
CASES = [
    case
    for case in yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]
    if case["kind"] in KINDS
]
REFUSED = [case for case in CASES if case.get("check") == "refused"]
ZONES = PinnedZones()

# Alternatives of other kinds than cron (test_expand_cases has those) that change a key of the file.
REWRITTEN: dict[tuple[str, str], dict[str, Any]] = {
    ("I01", "mode=elapsed (Temporal IntervalSpec 24h phase 8h, epoch aligned)"): {
        "every": "PT24H",
        "start": "1970-01-01T08:00:00Z",
    },
    ("I04", "PT264H elapsed (the bug, local date slips to Nov 3)"): {"every": "PT264H"},
    ("R01", "WKST=SU"): {"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU;COUNT=2;WKST=SU"},
    ("R14", "BYMONTHDAY=31 (skips short months)"): {"rrule": "FREQ=MONTHLY;BYMONTHDAY=31"},
    ("R16", "LW without holidays"): {"calendar": {"weekend": ["SAT", "SUN"]}},
}
# Alternatives that no setting of ours yields, and why.
NOT_OURS = {
    ("R10", "gap=skip and not counted (3.3.10 first paragraph)"): "COUNT counts nominal times here",
}


@dataclass(frozen=True)
class Expected:
    """A case or one of its alternatives: the keys of a schedule, and what it owes in a window."""

    name: str
    schedule: dict[str, Any]
    window: dict[str, str]
    answer: dict[str, Any]


def owed() -> list[Expected]:
    found = []
    for case in CASES:
        if "check" not in case:
            found.append(Expected(case["id"], case["schedule"], case["window"], case))
        if case["kind"] not in {"cron", "edit"}:
            found += alternatives(case)
    return found


def alternatives(case: dict[str, Any]) -> list[Expected]:
    found = []
    for alternative in case.get("alternatives", []):
        key = (case["id"], alternative["when"])
        if key in NOT_OURS:
            continue
        changed = case["schedule"] | (REWRITTEN.get(key) or setting(alternative["when"], case))
        found.append(Expected(" ".join(key), changed, case["window"], alternative))
    return found


def setting(when: str, case: dict[str, Any]) -> dict[str, Any]:
    """What an alternative sets that names one setting of ours."""
    match = re.match(r"(gap|month_end)=(\w+)", when)
    assert match is not None, f"{case['id']}: nothing understood of {when!r}"
    name, value = match.groups()
    return (
        {name: value} if name == "month_end" else {"dst": case["schedule"]["dst"] | {name: value}}
    )


def _file(schedule: dict[str, Any]) -> bytes:
    return yaml.safe_dump({"version": 1, "schedules": {"it": schedule}}).encode()


OWED = owed()


def test_the_case_file_is_whole_and_no_alternative_vanishes() -> None:
    kinds = [case["kind"] for case in CASES]
    assert {kind: kinds.count(kind) for kind in KINDS} == KINDS
    assert len(REFUSED) == 2
    others = [case for case in CASES if case["kind"] not in {"cron", "edit"}]
    wrong = [a["when"] for c in CASES if c["kind"] == "edit" for a in c.get("alternatives", [])]
    assert all(when.startswith("WRONG: ") for when in wrong)
    every = {(c["id"], a["when"]) for c in others for a in c.get("alternatives", [])}
    assert set(REWRITTEN) | set(NOT_OURS) <= every
    assert len(OWED) == len(CASES) - len(REFUSED) + len(every) - len(NOT_OURS)


@pytest.mark.parametrize("expected", OWED, ids=lambda expected: expected.name)
def test_a_schedule_of_the_file_yields_the_right_instants(expected: Expected) -> None:
    versions = timeline(parse(_file(expected.schedule), "case.yaml", ZONES).schedules["it"])
    window = Window(*(datetime.fromisoformat(expected.window[end]) for end in ("start", "end")))
    owed = occurrences(versions, window, ZONES.load)
    found = [format_instant(occurrence.logical_time) for occurrence in owed]
    if "expected_utc" in expected.answer:
        assert found == expected.answer["expected_utc"]
    else:
        edges = (len(found), found[0], found[-1])
        answer = expected.answer
        assert edges == (answer["expected_count"], answer["first_utc"], answer["last_utc"])
    epochs = [occurrence.instant for occurrence in owed]
    assert keys_of(versions, window, ZONES.load) == epochs
    before = window.start - timedelta(seconds=1)
    assert next_owed(versions, before, len(owed) + 1, ZONES.load)[: len(owed)] == owed
    assert all(from_spec(to_spec(version.timing)) == version.timing for version in versions)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_a_schedule_that_must_be_refused_is_with_a_way_out(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(_file(case["schedule"]), "case.yaml", ZONES)
    (problem,) = refused.value.problems
    assert (problem.subject, problem.line >= 1, problem.column >= 1) == ("it", True, True)
    assert ";" in problem.message
