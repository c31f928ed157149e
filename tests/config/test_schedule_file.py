"""Files that are accepted: each key, what it defaults to, and how defaults merge."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from schedule_files import NAME, read, read_one

from cronledger.adapters.config.load import sample
from cronledger.core import cron
from cronledger.core.keys import OccurrenceKey
from cronledger.core.schedule import (
    DST_PRESETS,
    Catchup,
    CatchupPolicy,
    DayRule,
    Dst,
    Fold,
    Gap,
    JobSpec,
    Order,
    Pause,
    QueueSpec,
    Schedule,
    Timing,
    Wildcard,
)

DAILY = cron.parse("0 2 * * *")
NIGHTLY = 'cron: "0 2 * * *"'
BERLIN = "timezone: Europe/Berlin"
EVERY_KEY = """version: 1
schedules:
  all:
    cron: {expr: "0 30 2 * * * 2026-2030", fields: 7}
    timezone: Europe/Berlin
    dst: {gap: skip, fold: both, wildcard: same}
    day_rule: and
    start: 2026-01-01T00:00:00
    end: 2027-01-01T00:00:00Z
    grace: 90s
    objective: P1DT12H
    deadline: 2m
    catchup: {policy: all, window: P7D, max: 7, order: newest}
    pause:
      - {from: 2026-02-01T00:00:00, to: 2026-02-02T00:00:00, reason: a move}
      - {from: 2026-03-01T00:00:00+02:00, reason: until further notice}
    skip: ["all:2026-05-01T00:30:00Z"]
    job:
      queue: reports
      kind: nightly report
      payload: {format: pdf}
      priority: -5
      max_attempts: 3
      timeout: PT10M
"""


def test_a_simple_file_has_every_default_of_the_core() -> None:
    text = """# two jobs, all defaults
version: 1
schedules:
  cleanup:
    cron: "0 2 * * *"   # five fields
    job: {queue: maintenance, kind: cleanup_sessions}
  heartbeat:
    cron: "@hourly"
"""
    found = read(text)
    assert found.path == NAME
    assert found.digest == hashlib.sha256(text.encode()).hexdigest()
    assert dict(found.schedules) == {
        "cleanup": Schedule(
            "cleanup", Timing(DAILY), JobSpec("cleanup_sessions", queue="maintenance")
        ),
        "heartbeat": Schedule(
            "heartbeat", Timing(cron.parse("@hourly")), JobSpec("heartbeat", queue="default")
        ),
    }
    assert dict(found.queues) == {
        "maintenance": QueueSpec("maintenance"),
        "default": QueueSpec("default"),
    }


def test_every_key_of_a_schedule_is_read() -> None:
    found = read(EVERY_KEY).schedules["all"]
    assert found == Schedule(
        id="all",
        timing=Timing(
            cron.parse("0 30 2 * * * 2026-2030", cron.Layout.SEVEN),
            "Europe/Berlin",
            Dst(Gap.SKIP, Fold.BOTH, Wildcard.SAME),
            DayRule.AND,
            datetime(2025, 12, 31, 23, tzinfo=UTC),
            datetime(2027, 1, 1, tzinfo=UTC),
        ),
        job=JobSpec("nightly report", "reports", {"format": "pdf"}, -5, 3, timedelta(minutes=10)),
        grace=timedelta(seconds=90),
        objective=timedelta(hours=36),
        deadline=timedelta(minutes=2),
        catchup=Catchup(CatchupPolicy.ALL, timedelta(days=7), 7, Order.NEWEST),
        pauses=(
            Pause(
                datetime(2026, 1, 31, 23, tzinfo=UTC),
                datetime(2026, 2, 1, 23, tzinfo=UTC),
                "a move",
            ),
            Pause(datetime(2026, 2, 28, 22, tzinfo=UTC), None, "until further notice"),
        ),
        skip=frozenset({OccurrenceKey("all", datetime(2026, 5, 1, 0, 30, tzinfo=UTC))}),
    )


def test_every_key_of_a_queue_is_read() -> None:
    found = read("""version: 1
queues:
  mail:
    objective: PT15M
    lease: PT30S
    max_attempts: 5
    timeout: PT2M
    backoff: {base: 1s, cap: 10m}
schedules: {}
""")
    assert found.queues["mail"] == QueueSpec(
        name="mail",
        objective=timedelta(minutes=15),
        lease=timedelta(seconds=30),
        max_attempts=5,
        timeout=timedelta(minutes=2),
        backoff_base=timedelta(seconds=1),
        backoff_cap=timedelta(minutes=10),
    )
    assert not found.schedules


def test_a_declared_queue_keeps_its_settings_when_a_job_names_it() -> None:
    found = read("""version: 1
queues: {mail: {max_attempts: 2}}
schedules:
  a: {cron: "0 2 * * *", job: {queue: mail}}
  b: {cron: "0 2 * * *", job: {queue: post}}
""")
    assert dict(found.queues) == {
        "mail": QueueSpec("mail", max_attempts=2),
        "post": QueueSpec("post"),
    }


def test_defaults_stand_under_what_a_schedule_gives() -> None:
    found = read("""version: 1
defaults:
  timezone: Asia/Tokyo
  day_rule: or
  grace: PT1M
  objective: PT2M
  deadline: PT3S
  catchup: {policy: all, window: P7D}
  job: {queue: slow, max_attempts: 2, timeout: PT5M, priority: 9}
schedules:
  bare: {cron: "0 2 * * *"}
  own:
    cron: "0 2 * * *"
    timezone: UTC
    grace: PT9M
    catchup: {policy: earliest, max: 3}
    job: {queue: fast, priority: 0}
""")
    bare, own = found.schedules["bare"], found.schedules["own"]
    assert bare.timing == Timing(DAILY, "Asia/Tokyo", day_rule=DayRule.OR)
    assert (bare.grace, bare.objective) == (timedelta(minutes=1), timedelta(minutes=2))
    assert bare.deadline == timedelta(seconds=3)
    assert bare.catchup == Catchup(CatchupPolicy.ALL, timedelta(days=7))
    assert bare.job == JobSpec("bare", "slow", {}, 9, 2, timedelta(minutes=5))
    assert own.timing == Timing(DAILY, "UTC", day_rule=DayRule.OR)
    assert own.grace == timedelta(minutes=9)
    # Each part of a nested policy is given or not by itself.
    assert own.catchup == Catchup(CatchupPolicy.EARLIEST, timedelta(days=7), 3)
    assert own.job == JobSpec("own", "fast", {}, 0, 2, timedelta(minutes=5))


@pytest.mark.parametrize("name", DST_PRESETS)
def test_a_preset_of_dst_is_given_by_name(name: str) -> None:
    assert read_one(f"{NIGHTLY}, dst: {name}").timing.dst == DST_PRESETS[name]


def test_a_dst_given_in_part_is_filled_from_the_preset_cron() -> None:
    expected = replace(DST_PRESETS["cron"], fold=Fold.BOTH)
    assert read_one(f"{NIGHTLY}, dst: {{fold: both}}").timing.dst == expected


def test_a_dst_given_in_part_stands_on_the_defaults_of_the_file() -> None:
    found = read_one(f"{NIGHTLY}, dst: {{gap: shift}}", head="defaults: {dst: literal}")
    assert found.timing.dst == replace(DST_PRESETS["literal"], gap=Gap.SHIFT)


@pytest.mark.parametrize(
    ("wall", "zone", "expected"),
    [
        ("2026-07-01T12:00:00", "Europe/Berlin", "2026-07-01T10:00:00"),
        ("2026-07-01", "Europe/Berlin", "2026-06-30T22:00:00"),
        # Shown twice: the first.
        ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00"),
        ("2026-04-05T01:45:00", "Australia/Lord_Howe", "2026-04-04T14:45:00"),
        # Jumped over: moved by the gap.
        ("2026-03-29T02:30:00", "Europe/Berlin", "2026-03-29T01:30:00"),
        ("2026-10-04T02:15:00", "Australia/Lord_Howe", "2026-10-03T15:45:00"),
        ("2026-03-29T02:30:00", "Antarctica/Troll", "2026-03-29T02:30:00"),
        ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T22:00:00"),
        ("2026-09-27T02:45:00", "Pacific/Chatham", "2026-09-26T14:00:00"),
    ],
)
def test_a_start_without_a_zone_is_on_the_clock_of_the_schedule(
    wall: str, zone: str, expected: str
) -> None:
    found = read_one(f'cron: "* * * * *", timezone: {zone}, start: "{wall}"')
    assert found.timing.start == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_start_with_a_zone_is_an_instant() -> None:
    found = read_one(f"{NIGHTLY}, {BERLIN}, start: 2026-07-01T12:00:00+05:30")
    assert found.timing.start == datetime(2026, 7, 1, 6, 30, tzinfo=UTC)


def test_a_catchup_policy_of_none_may_have_a_window() -> None:
    found = read_one(f"{NIGHTLY}, catchup: {{policy: none, window: P2D}}")
    assert found.catchup == Catchup(CatchupPolicy.NONE, timedelta(days=2))


def test_fields_of_a_cron_are_spelled_out() -> None:
    six = read_one('cron: {expr: "0 30 2 * * *", fields: 6s}').timing.trigger
    assert six == cron.parse("0 30 2 * * *", cron.Layout.SECONDS)
    assert read_one('cron: {expr: "0 2 * * *"}').timing.trigger == DAILY


def test_the_sample_has_three_schedules_in_three_zones() -> None:
    found = read(sample())
    zones = {schedule.timing.timezone for schedule in found.schedules.values()}
    assert zones == {"Europe/Berlin", "America/New_York", "Asia/Tokyo"}
    assert len(found.schedules) == 3
