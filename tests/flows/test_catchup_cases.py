"""Public bug reports about missed runs, each played on a real ledger: what is caught up, and what
is missing.

A case says what went before (`spec`), when the clock comes back, and which keys a tick then owes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronledger.core.instants import format_instant
from ledgers import World, time

CASES_FILE = Path(__file__).parent.parent / "cases" / "schedules.yaml"
CASES = {
    case["id"]: case
    for case in yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]
    if case["kind"] == "catchup"
}
MISSED = "missed (all expected, unrecorded keys)"
NOW = {
    "K03": "2021-05-04T15:47:33Z",
    "K04": "2021-10-21T11:35:01Z",
    "K05": "2025-04-23T03:03:00Z",
    "K06": "2021-02-05T12:04:30Z",
    "K08": "2026-01-22T10:02:00Z",
    "K09": "2024-11-18T00:45:59Z",
    "K12": "2026-03-08T07:20:00Z",
}
# The policies that a case names, as the file has them.
NONE = {"catchup": {"policy": "none"}}
LATEST = {"catchup": {"policy": "latest"}, "deadline": "PT1H"}
PAUSED = {"pause": [{"from": "2021-10-21T11:31:00Z", "to": "2021-10-21T11:35:00Z", "reason": "r"}]}
ANSWERS: list[tuple[str, str, Mapping[str, Any]]] = [
    ("K03", "", NONE),
    ("K03", "catchup=latest", {"catchup": {"policy": "latest"}}),
    ("K04", "", PAUSED),
    # Down instead of paused: a pause suppresses its keys under every policy.
    ("K04", "catchup=all", {"catchup": {"policy": "all"}}),
    ("K05", "", LATEST),
    ("K05", "catchup=none", NONE),
    ("K06", "", {**NONE, "deadline": "PT60S"}),
    ("K06", "catchup=none ignoring threshold (reported behaviour)", {**NONE, "deadline": "PT0S"}),
    ("K12", "", LATEST),
    ("K12", "gap=shift: 07:30Z is not missed at all", {**LATEST, "dst": {"gap": "shift"}}),
]


def played(world: World, case: dict[str, Any], settings: Mapping[str, Any]) -> World:
    """The schedule loaded before its window, ticked up to its outage, and then `NOW`."""
    spec, schedule = case["spec"], {**case["schedule"], **settings}
    since = time(case["window"]["start"])
    last = time(spec["last_recorded"]) if "last_recorded" in spec else None
    world.at(since if last is None else last - timedelta(seconds=1))
    world.load(f"it: {json.dumps(schedule)[1:-1]}")
    if last is not None:
        assert world.at(last).enqueued() == [f"it:{format_instant(last)}"]
    return world.at(NOW[case["id"]])


def answer(case: dict[str, Any], when: str) -> list[str]:
    if not when:
        return list(case["expected_utc"])
    return next(list(a["expected_utc"]) for a in case["alternatives"] if a["when"] == when)


def instants(keys: list[str]) -> list[str]:
    return [key.partition(":")[2] for key in keys]


def missed(world: World, case: dict[str, Any]) -> list[str]:
    """What is expected in the window of the case and not recorded, whatever becomes of it."""
    start, end = (case["window"][bound] for bound in ("start", "end"))
    recorded = set(world.recorded())
    return instants([key for key in world.classes(start, end) if key not in recorded])


@pytest.mark.parametrize(("name", "when", "settings"), ANSWERS)
def test_a_tick_owes_what_the_case_says(
    world: World, name: str, when: str, settings: Mapping[str, Any]
) -> None:
    case = CASES[name]
    assert instants(played(world, case, settings).enqueued()) == answer(case, when)


@pytest.mark.parametrize("name", ["K03", "K04", "K05", "K06", "K12"])
def test_what_was_missed_is_known_before_anything_is_decided(world: World, name: str) -> None:
    case = CASES[name]
    assert missed(played(world, case, {"grace": "PT0S"}), case) == answer(case, MISSED)


def test_k04_keys_of_a_pause_are_suppressed_and_the_end_of_it_is_not_in_it(world: World) -> None:
    played(world, CASES["K04"], PAUSED).tick()
    assert world.classes("2021-10-21T11:31:01", "2021-10-21T11:35:01") == {
        "it:2021-10-21T11:32:00Z": "suppressed paused",
        "it:2021-10-21T11:33:00Z": "suppressed paused",
        "it:2021-10-21T11:34:00Z": "suppressed paused",
        "it:2021-10-21T11:35:00Z": "running",
    }


def test_k08_a_key_without_its_job_is_not_handled(world: World) -> None:
    case = CASES["K08"]
    with_job, without = case["spec"]["recorded_with_job"], case["spec"]["recorded_without_job"]
    world.at("2026-01-22T09:59:59")
    world.load(f"it: {json.dumps(case['schedule'])[1:-1]}, grace: PT0S")
    for instant in (*with_job, *without):
        assert instants(world.at(instant).enqueued()) == [instant]
    world.sql(
        "delete from cronledger.job j using cronledger.occurrence o"
        " where o.job_id = j.id and o.logical_time = any (%(times)s)",
        times=[datetime.fromisoformat(instant) for instant in without],
    )
    found = world.at("2026-01-22T10:02:01").classes(*case["window"].values())
    owing = [key for key, what in found.items() if what in {"missing", "orphaned"}]
    assert instants(owing) == answer(case, "") == answer(case, MISSED)
    assert [key for key, what in found.items() if what == "orphaned"] == [f"it:{without[0]}"]


def test_k09_a_run_belongs_to_the_key_it_carries_and_not_to_when_it_arrives(world: World) -> None:
    case = CASES["K09"]
    world.at("2024-11-18T00:29:59").load(f"it: {json.dumps(case['schedule'])[1:-1]}")
    for run in case["spec"]["runs"]:
        arrival, key = run.split("->key ")
        (ticked,) = instants(world.at(f"2024-11-18T{arrival}").enqueued())
        assert ticked == f"2024-11-18T{key}:00Z"
    assert instants(world.recorded()) == answer(case, "") == answer(case, MISSED)


def test_no_case_and_no_alternative_vanishes() -> None:
    alone: dict[str, Callable[..., None]] = {
        "K08": test_k08_a_key_without_its_job_is_not_handled,
        "K09": test_k09_a_run_belongs_to_the_key_it_carries_and_not_to_when_it_arrives,
    }
    played_here = {(name, when) for name, when, _ in ANSWERS}
    for name, case in CASES.items():
        asked = {"", *(a["when"] for a in case.get("alternatives", []))} - {MISSED}
        assert name in alone or {(name, when) for when in asked} <= played_here
    assert len(CASES) == 7


@pytest.mark.parametrize(
    ("catchup", "enqueued", "left_out"),
    [
        ("{policy: none}", [], {"policy_none": 6}),
        ("{policy: latest}", ["07"], {"coalesced": 5}),
        ("{policy: all, window: PT4H}", ["04", "05", "06", "07"], {"outside_window": 2}),
    ],
)
def test_q047_what_fell_due_while_nothing_ran_is_decided_on_and_kept(
    world: World, catchup: str, enqueued: list[str], left_out: dict[str, int]
) -> None:
    line = f"m: cron: '0 * * * *', timezone: UTC, catchup: {catchup}"
    world.at("2026-03-01T00:30:00").load(line)
    world.at("2026-03-01T01:30:00").tick()
    world.at("2026-03-01T07:30:00")
    assert world.enqueued() == [f"m:2026-03-01T{hour}:00:00Z" for hour in enqueued]
    assert {reason: count for *_, reason, count in world.left_out()} == left_out
