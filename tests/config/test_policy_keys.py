"""Splay, overlap, rate, earlier ids, parameters, other schedulers, zone data: read and refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronledger.adapters.config.load import parse
from cronledger.adapters.zones import PinnedZones
from cronledger.core.keys import OccurrenceKey
from cronledger.core.schedule import Overlap, ScheduleFile
from cronledger.errors import ConfigError

ZONES = PinnedZones()
BASE = 'cron: "0 2 * * *"'


def load(*lines: str, top: str = "") -> ScheduleFile:
    schedules = "".join(f"  {line}\n" for line in lines)
    return parse(f"version: 1\n{top}schedules:\n{schedules}".encode(), "f.yaml", ZONES)


def refused(*lines: str, top: str = "") -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(*lines, top=top)
    return [str(problem) for problem in error.value.problems]


def test_the_keys_are_read() -> None:
    schedule = load(
        f"it: {{{BASE}, splay: PT4M, overlap: skip, aliases: [old, older], managed_by: pg_cron,"
        " catchup: {policy: all, rate: 60/m}}"
    ).schedules["it"]
    assert (schedule.splay, schedule.overlap) == (timedelta(minutes=4), Overlap.SKIP)
    assert (schedule.aliases, schedule.managed_by) == (("old", "older"), "pg_cron")
    assert schedule.catchup.pace == timedelta(seconds=1)


def test_defaults_hold_where_a_schedule_says_nothing() -> None:
    file = load(
        f"a: {{{BASE}}}",
        f"b: {{{BASE}, splay: PT1S}}",
        top="defaults: {splay: PT1M, overlap: skip}\n",
    )
    assert [s.splay.seconds for s in file.schedules.values()] == [60, 1]
    assert {s.overlap for s in file.schedules.values()} == {Overlap.SKIP}


def test_each_combination_of_parameters_is_a_schedule_with_its_own_keys() -> None:
    file = load(
        f"reindex: {{{BASE}, matrix: {{tier: [gold], region: [eu, us]}},"
        ' skip: ["reindex[region=us,tier=gold]:2026-08-16T02:00:00Z"],'
        " job: {payload: {full: true}}}"
    )
    assert list(file.schedules) == ["reindex[region=eu,tier=gold]", "reindex[region=us,tier=gold]"]
    us = file.schedules["reindex[region=us,tier=gold]"]
    assert us.job.payload == {"full": True, "region": "us", "tier": "gold"}
    assert us.job.kind == "reindex"
    assert us.skip == {OccurrenceKey.parse("reindex[region=us,tier=gold]:2026-08-16T02:00:00Z")}


@pytest.mark.parametrize("asked", ["2026f", '">=2026f"', '">= 2025b"'])
def test_zone_data_that_will_do_is_taken(asked: str) -> None:
    assert load(f"it: {{{BASE}}}", top=f"tzdata: {asked}\n").schedules


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("overlap: wait", "expected one of allow, skip, buffer_one"),
        ("splay: P2D", "from PT0S to P1D"),
        ("catchup: {rate: fast}", "60/m"),
        ("catchup: {rate: 0/m}", "60/m"),
        ("matrix: {region: eu}", "different values"),
        ("matrix: {region: [eu, eu]}", "different values"),
        ("matrix: {region: ['a:b']}", "cannot stand in a key"),
        ("matrix: {Region: [eu]}", "no parameter"),
        ("matrix: {}", "expected parameters"),
        ("matrix: {a: [x]}, job: {payload: {a: y}}", "stands in the payload too"),
        ("matrix: {a: [x]}, skip: ['it:2026-08-16T02:00:00Z']", "it[a=x]:<logical time>"),
        ("aliases: [it]", "belongs to 'it'"),
        ("aliases: [other]", "belongs to 'other'"),
        ("aliases: ['Bad Id']", "schedule id"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(settings: str, said: str) -> None:
    (problem,) = refused(f"it: {{{BASE}, {settings}}}", f"other: {{{BASE}}}")
    assert problem.startswith("f.yaml:3:")
    assert ": it: " in problem
    assert said in problem


@pytest.mark.parametrize("asked", ["2025a", '">=2031a"', "latest", "[2026f]"])
def test_other_zone_data_is_refused(asked: str) -> None:
    (problem,) = refused(f"it: {{{BASE}}}", top=f"tzdata: {asked}\n")
    assert problem.startswith("f.yaml:2:9: tzdata: ")


def test_one_earlier_id_belongs_to_one_schedule() -> None:
    (problem,) = refused(f"a: {{{BASE}, aliases: [x]}}", f"b: {{{BASE}, aliases: [x]}}")
    assert "'x' belongs to 'a'" in problem
