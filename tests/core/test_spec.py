"""A stored timing is the timing, and its hash says whether instants may differ."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from cronledger.adapters.zones import PinnedZones
from cronledger.core.expand import instants
from cronledger.core.spec import from_spec, timing_hash, to_spec
from ledgers import schedule_of
from timings import Question, questions

BASE = "cron: '30 2 * * *', timezone: Europe/Berlin"


@settings(max_examples=150, deadline=None)
@given(questions())
def test_a_timing_survives_json(question: Question) -> None:
    stored = json.loads(json.dumps(to_spec(question.timing)))
    back = from_spec(stored)
    assert back == question.timing
    assert timing_hash(back) == timing_hash(question.timing)
    zone = PinnedZones().load(back.timezone)
    assert instants(back, zone, question.window) == instants(question.timing, zone, question.window)


@pytest.mark.parametrize(
    "settings_",
    [
        "cron: '30 02 * * *', timezone: Europe/Berlin",
        "cron: '  30   2 * * *', timezone: Europe/Berlin",
        f"{BASE}, job: {{kind: other, payload: {{a: 1}}}}",
        f"{BASE}, grace: PT1H, deadline: PT1H, catchup: {{policy: all, window: P2D, max: 3}}",
        f"{BASE}, pause: [{{from: '2026-01-01T00:00:00Z', reason: x}}]",
        f"{BASE}, dst: cron",
    ],
)
def test_what_moves_no_instant_leaves_the_hash_alone(settings_: str) -> None:
    same = schedule_of(f"x: {settings_}")
    assert timing_hash(same.timing) == timing_hash(schedule_of(f"x: {BASE}").timing)


@pytest.mark.parametrize(
    "settings_",
    [
        "cron: '31 2 * * *', timezone: Europe/Berlin",
        "cron: '30 2 * * *', timezone: Europe/Paris",
        f"{BASE}, dst: literal",
        f"{BASE}, start: '2026-01-01T00:00:00Z'",
        f"{BASE}, end: '2027-01-01T00:00:00Z'",
        f"{BASE}, day_rule: and",
    ],
)
def test_what_may_move_an_instant_changes_the_hash(settings_: str) -> None:
    other = schedule_of(f"x: {settings_}")
    assert timing_hash(other.timing) != timing_hash(schedule_of(f"x: {BASE}").timing)
