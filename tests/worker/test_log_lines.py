"""The log line of each event."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from cronledger.adapters.observe.logs import log_events
from cronledger.core.events import (
    Attempted,
    Disputed,
    Enqueued,
    Event,
    FileReloaded,
    Followed,
    HistoryPruned,
    KeysLeftOut,
    LeaseLost,
    Lifecycle,
    LoopFailed,
    LoopRecovered,
    PingFailed,
    PingSent,
    Reconciled,
    ReloadFailed,
    Rescued,
    TelemetryFailed,
    TelemetrySent,
    VersionsNoted,
    WebReloaded,
    WebReloadFailed,
)
from cronledger.core.lifecycle import Lease, Settlement
from cronledger.core.plan import LeftOut, Reason
from cronledger.core.retention import Pruned

NOON = datetime(2026, 8, 7, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
LEASE = Lease(
    job_id=7,
    token=41,
    key="report:2026-08-07T12:00:00Z",
    kind="report",
    queue="mail",
    payload={"card": "4111-1111"},
    logical_time=NOON,
    attempt=2,
    max_attempts=8,
    eligible_at=NOON - SECOND / 4,
    claimed_at=NOON,
    expires_at=NOON + SECOND,
    span=SECOND,
    timeout=SECOND,
)
OF_THE_LEASE = {
    "job_id": 7,
    "key": "report:2026-08-07T12:00:00Z",
    "kind": "report",
    "queue": "mail",
    "attempt": 2,
    "lease_token": 41,
}
ONE_SECOND = {**OF_THE_LEASE, "duration_s": 1.0, "wait_s": 0.25}
AT = "jobs.py:42 in report"
LINES: list[tuple[Event, str, str, dict[str, Any]]] = [
    (
        Attempted(LEASE, Settlement.COMPLETED, timedelta(milliseconds=1500)),
        "info",
        "attempt",
        {
            **OF_THE_LEASE,
            "duration_s": 1.5,
            "wait_s": 0.25,
            "outcome": "completed",
            "error_class": None,
            "error_at": None,
        },
    ),
    (
        Attempted(LEASE, Settlement.DEAD, SECOND, "ValueError", "bad card 4111-1111", AT),
        "error",
        "attempt",
        {**ONE_SECOND, "outcome": "dead", "error_class": "ValueError", "error_at": AT},
    ),
    (
        Attempted(LEASE, Settlement.STALE, SECOND, "lease_lost"),
        "warning",
        "attempt",
        {**ONE_SECOND, "outcome": "stale", "error_class": "lease_lost", "error_at": None},
    ),
    (LeaseLost(LEASE), "warning", "lease_lost", OF_THE_LEASE),
    (Rescued(3), "warning", "rescued", {"count": 3}),
    (
        LoopFailed("keeper", "gone", "08006", SECOND),
        "error",
        "loop_failed",
        {"loop": "keeper", "error": "gone", "sqlstate": "08006", "delay_s": 1.0},
    ),
    (
        LoopRecovered("keeper", 3),
        "info",
        "loop_recovered",
        {"loop": "keeper", "failures_before": 3},
    ),
    (
        TelemetryFailed("traces", "ConnectionError", 2),
        "warning",
        "telemetry_failed",
        {"signal": "traces", "reason": "ConnectionError", "failures": 2},
    ),
    (
        TelemetrySent("traces", 2),
        "info",
        "telemetry_sent",
        {"signal": "traces", "failures_before": 2},
    ),
    (
        Enqueued("report", (3600, 0), 2),
        "info",
        "enqueued",
        {
            "schedule": "report",
            "count": 2,
            "first": "1970-01-01T00:00:00Z",
            "last": "1970-01-01T01:00:00Z",
            "duplicates": 2,
        },
    ),
    (
        KeysLeftOut("report", (LeftOut(0, 9, Reason.PAUSED, 4), LeftOut(9, 12, Reason.PAUSED, 1))),
        "info",
        "keys_left_out",
        {"schedule": "report", "counts": {"paused": 5}},
    ),
    (
        Reconciled(1, 2, 3, SECOND),
        "warning",
        "reconciled",
        {"missing": 1, "unexpected": 2, "orphaned": 3, "duration_s": 1.0},
    ),
    (
        Followed(datetime(2026, 1, 1, tzinfo=UTC), fresh=True),
        "info",
        "followed",
        {"reconciled_at": "2026-01-01T00:00:00Z"},
    ),
    (Followed(None, fresh=False), "warning", "followed", {"reconciled_at": None}),
    (
        HistoryPruned(Pruned(1, 2, 3, 4, 5)),
        "info",
        "pruned",
        {"days": 1, "jobs": 2, "keys": 3, "receipts": 4, "occurrences": 5},
    ),
    (
        VersionsNoted(("a",), (), ("a",)),
        "warning",
        "versions_noted",
        {"opened": ["a"], "ended": [], "late": ["a"]},
    ),
    (VersionsNoted(("a",), ("b",)), "info", "versions_noted", {"opened": ["a"], "ended": ["b"]}),
    (
        FileReloaded("f.yaml", "ab", 2),
        "info",
        "file_reloaded",
        {"path": "f.yaml", "digest": "ab", "schedules": 2},
    ),
    (
        ReloadFailed("f.yaml", ("f.yaml:1:1: bad",)),
        "error",
        "reload_failed",
        {"path": "f.yaml", "problems": ["f.yaml:1:1: bad"]},
    ),
    (WebReloaded("web.yml"), "info", "web_config_reloaded", {"path": "web.yml"}),
    (
        WebReloadFailed("web.yml", ("web.yml:1:1: bad",)),
        "error",
        "web_config_reload_failed",
        {"path": "web.yml", "problems": ["web.yml:1:1: bad"]},
    ),
    (PingSent(2), "info", "ping_sent", {"failures_before": 2}),
    (
        PingFailed("the answer was status 500", 3),
        "error",
        "ping_failed",
        {"reason": "the answer was status 500", "failures": 3},
    ),
    (
        Disputed(("a", "b")),
        "error",
        "schedules_disputed",
        {"ended_by_another_file": ["a", "b"]},
    ),
    (
        Lifecycle("worker_started", "two\nlines"),
        "info",
        "worker_started",
        {"detail": "two\nlines"},
    ),
]


@pytest.mark.parametrize(("event", "level", "name", "fields"), LINES)
def test_an_event_is_one_line_of_json_with_its_facts_and_no_payload(
    event: Event, level: str, name: str, fields: dict[str, Any]
) -> None:
    out = io.StringIO()
    log_events("w-1", stream=out)(event)
    text = out.getvalue()
    assert text.count("\n") == 1
    line = json.loads(text)
    assert list(line)[:3] == ["ts", "level", "event"]
    assert datetime.fromisoformat(line.pop("ts")).tzinfo is not None
    assert line == {"level": level, "event": name, "worker": "w-1", **fields}
    assert "4111" not in text


def test_every_event_has_a_line() -> None:
    assert {type(event) for event, *_ in LINES} == set(get_args(Event))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_line_for_people_coloured_unless_it_asks_not_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = Terminal()
    log_events(stream=coloured)(Rescued(3))
    assert "\x1b[" in coloured.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    log_events(stream=plain)(Rescued(3))
    assert "\x1b[" not in plain.getvalue()
    assert plain.getvalue().rstrip().endswith("rescued count=3")
