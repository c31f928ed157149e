"""Public bug reports of other schedulers, each with the right answer: our specification."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import CronError, Layout, parse
from cronledger.core.expand import expand, instants
from cronledger.core.instants import Window, format_instant
from cronledger.core.schedule import DayRule, Dst, Fold, Gap, Timing, Wildcard

CASES_FILE = Path(__file__).parent.parent / "cases" / "schedules.yaml"
ZONES = PinnedZones()

# What an alternative's `when` sets, where it names a setting of ours.
SETTING = re.compile(r"\b(gap|fold|wildcard|day_rule|fields)=(\w+)")
SPELLINGS = {("day_rule", "posix"): "or"}
# Alternatives that ask for another expression.
REWRITTEN = {("D18", "'6#1'"): "30 3 * * 6#1", ("L08", "LW"): "0 9 LW * *"}
# Alternatives that no setting of ours yields, and why.
NOT_OURS = {
    ("B23", "classify by value set (hours full => wildcard)"): "0-23 is no wildcard here",
    ("T03", "tzdata 2025b (stale)"): "needs an older wheel than the pinned one",
    ("D05", "day_rule=set (graphile-worker: full set counts as *)"): "a full set is no * here",
    ("S01", "interval 45m anchored 2017-08-26T12:45:00Z (reporter's intent)"): "no cron",
    ("S11", "fields=6t (trailing seconds): min hour dom mon dow sec"): "no such layout here",
    ("S12", "fields=6t (croniter default)"): "no such layout here",
    ("S14", "same text as leading seconds"): "a refusal; test_cron has it",
    ("S17", "range_wrap=reject"): "a refusal; it is this case's `check`",
}


@dataclass(frozen=True)
class Expected:
    """A case, or one of its alternatives: a timing, a window and what falls into it."""

    name: str
    timing: Timing
    window: Window
    answer: dict[str, Any]


def cron_cases() -> list[dict[str, Any]]:
    """Every case of kind cron."""
    cases = yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if case["kind"] == "cron"]


def read(case: dict[str, Any]) -> Expected:
    """The case's own answer."""
    spec, dst = case["spec"], case["dst_policy"]
    timing = Timing(
        parse(spec["cron"], Layout(spec.get("fields", "5"))),
        case["tz"],
        Dst(Gap(dst["gap"]), Fold(dst["fold"]), Wildcard(dst["wildcard"])),
    )
    window = Window(*(datetime.fromisoformat(case["window"][end]) for end in ("start", "end")))
    return Expected(case["id"], timing, window, case)


def read_alternative(case: dict[str, Any], alternative: dict[str, Any]) -> Expected | None:
    """The answer under other settings; None if no setting of ours yields it."""
    when = alternative["when"]
    if (case["id"], when) in NOT_OURS:
        return None
    base = read(case)
    timing = base.timing
    if (case["id"], when) in REWRITTEN:
        timing = replace(timing, trigger=parse(REWRITTEN[case["id"], when]))
    else:
        settings = SETTING.findall(when)
        assert settings, f"{case['id']}: nothing understood of {when!r}"
        for name, value in settings:
            timing = change(timing, name, SPELLINGS.get((name, value), value))
    return Expected(f"{case['id']} {when}", timing, base.window, alternative)


def change(timing: Timing, name: str, value: str) -> Timing:
    """The timing with one setting changed."""
    match name:
        case "gap":
            return replace(timing, dst=replace(timing.dst, gap=Gap(value)))
        case "fold":
            return replace(timing, dst=replace(timing.dst, fold=Fold(value)))
        case "wildcard":
            return replace(timing, dst=replace(timing.dst, wildcard=Wildcard(value)))
        case "day_rule":
            return replace(timing, day_rule=DayRule(value))
        case _:
            return replace(timing, trigger=parse(timing.trigger.text, Layout(value)))


OWED = [read(case) for case in cron_cases() if case.get("check") != "refused"]
REFUSED = [case for case in cron_cases() if case.get("check") == "refused"]
ALTERNATIVES = [
    found
    for case in cron_cases()
    for alternative in case.get("alternatives", [])
    if (found := read_alternative(case, alternative)) is not None
]


@pytest.mark.parametrize("expected", [*OWED, *ALTERNATIVES], ids=lambda expected: expected.name)
def test_the_case_is_expanded_as_its_thread_says(expected: Expected) -> None:
    zone = ZONES.load(expected.timing.timezone)
    occurrences = expand(expected.timing, zone, expected.window)
    times = [format_instant(occurrence.logical_time) for occurrence in occurrences]
    if "expected_utc" in expected.answer:
        assert times == expected.answer["expected_utc"]
    else:
        assert len(times) == expected.answer["expected_count"]
        assert times[0] == expected.answer["first_utc"]
        assert times[-1] == expected.answer["last_utc"]
    assert instants(expected.timing, zone, expected.window) == [o.instant for o in occurrences]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_the_case_is_refused_with_a_column_and_a_way_out(case: dict[str, Any]) -> None:
    with pytest.raises(CronError) as caught:
        parse(case["spec"]["cron"])
    wanted = {
        "S10": (4, "never fires; change the day or the month"),
        "S17": (5, "write 11-23,0-2"),
    }
    column, words = wanted[case["id"]]
    assert caught.value.column == column
    assert words in caught.value.message


def test_no_case_and_no_alternative_vanishes() -> None:
    every = {(c["id"], a["when"]) for c in cron_cases() for a in c.get("alternatives", [])}
    assert set(NOT_OURS) | set(REWRITTEN) <= every
    assert (len(OWED), len(REFUSED)) == (78, 2)
    assert len(ALTERNATIVES) == len(every) - len(NOT_OURS) == 55
