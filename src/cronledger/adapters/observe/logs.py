"""How events are logged: one structured line each, on stderr, and never a payload."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Literal, TextIO, TypeAlias, assert_never

import structlog
from structlog.typing import EventDict, Processor

from cronledger.adapters.observe.repeats import Repeats
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
from cronledger.core.instants import format_instant, from_epoch
from cronledger.core.lifecycle import Lease, Settlement
from cronledger.ports import Observe

Level: TypeAlias = Literal["info", "warning", "error"]
Line: TypeAlias = tuple[Level, str, dict[str, Any]]

# What a process says of itself that a person should act on.
_WARNINGS = frozenset({"worker_clogged"})


def log_events(
    worker: str = "",
    *,
    stream: TextIO | None = None,
    as_json: bool | None = None,
    elapsed: Callable[[], timedelta] | None = None,
    ids: Callable[[int], Mapping[str, str]] = lambda _: {},
) -> Observe:
    """A listener that writes to `stream` (None: stderr), safe to call from any thread.

    `as_json` None: JSON unless the stream is a terminal. `worker` stands in every line if given.
    With a monotonic clock, `elapsed`, repeats of a failure are left out and counted. `ids` are
    those of the trace of the attempt under a lease's token.
    """
    out = stream or sys.stderr
    terminal = out.isatty()
    style = _json() if as_json or (as_json is None and not terminal) else _console(terminal)
    logger = structlog.wrap_logger(
        structlog.WriteLogger(out),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            _heads_first,
            style,
        ],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=False,
    )
    process = {"worker": worker} if worker else {}
    repeats = Repeats(elapsed) if elapsed is not None else None

    def observe(event: Event) -> None:
        left_out = repeats.heard(event) if repeats is not None else 0
        if left_out is None:
            return
        level, name, fields = line_of(event)
        more: dict[str, Any] = {"suppressed": left_out} if left_out else {}
        if isinstance(event, Attempted):
            more |= ids(event.lease.token)
        getattr(logger, level)(name, **fields, **more, **process)

    return observe


def line_of(event: Event) -> Line:
    """Level, event name and fields of the line that an event becomes."""
    match event:
        case Attempted() | LeaseLost() | Rescued():
            return _work_line(event)
        case LoopFailed() | LoopRecovered() | TelemetryFailed() | TelemetrySent():
            return _loop_line(event)
        case FileReloaded() | ReloadFailed() | Disputed() | Lifecycle():
            return _process_line(event)
        case WebReloaded() | WebReloadFailed() | PingSent() | PingFailed():
            return _web_line(event)
        case VersionsNoted() | Enqueued() | KeysLeftOut() | HistoryPruned():
            return _ledger_line(event)
        case Reconciled() | Followed():
            return _pass_line(event)
    assert_never(event)


def _work_line(event: Attempted | LeaseLost | Rescued) -> Line:
    match event:
        case Attempted():
            return _level(event.settlement), "attempt", _attempt_fields(event)
        case LeaseLost():
            return "warning", "lease_lost", _lease_fields(event.lease)
        case Rescued():
            return "warning", "rescued", {"count": event.count}
    assert_never(event)


def _loop_line(event: LoopFailed | LoopRecovered | TelemetryFailed | TelemetrySent) -> Line:
    match event:
        case LoopFailed():
            return (
                "error",
                "loop_failed",
                {
                    "loop": event.loop,
                    "error": event.error,
                    "sqlstate": event.sqlstate,
                    "delay_s": event.delay.total_seconds(),
                },
            )
        case LoopRecovered():
            fields = {"loop": event.loop, "failures_before": event.failures}
            return "info", "loop_recovered", fields
        case TelemetryFailed():
            said = {"signal": event.signal, "reason": event.reason, "failures": event.failures}
            return "warning", "telemetry_failed", said
        case TelemetrySent():
            told = {"signal": event.signal, "failures_before": event.failures}
            return "info", "telemetry_sent", told
    assert_never(event)


def _process_line(event: FileReloaded | ReloadFailed | Disputed | Lifecycle) -> Line:
    match event:
        case FileReloaded():
            fields = {"path": event.path, "digest": event.digest, "schedules": event.schedules}
            return "info", "file_reloaded", fields
        case Disputed():
            return "error", "schedules_disputed", {"ended_by_another_file": list(event.schedules)}
        case ReloadFailed():
            return "error", "reload_failed", {"path": event.path, "problems": list(event.problems)}
        case Lifecycle():
            level: Level = "warning" if event.what in _WARNINGS else "info"
            return level, event.what, {"detail": event.detail}
    assert_never(event)


def _web_line(event: WebReloaded | WebReloadFailed | PingSent | PingFailed) -> Line:
    match event:
        case WebReloaded():
            return "info", "web_config_reloaded", {"path": event.path}
        case WebReloadFailed():
            fields = {"path": event.path, "problems": list(event.problems)}
            return "error", "web_config_reload_failed", fields
        case PingSent():
            return "info", "ping_sent", {"failures_before": event.failures}
        case PingFailed():
            return "error", "ping_failed", {"reason": event.reason, "failures": event.failures}
    assert_never(event)


def _ledger_line(event: VersionsNoted | Enqueued | KeysLeftOut | HistoryPruned) -> Line:
    match event:
        case VersionsNoted():
            noted = {"opened": list(event.opened), "ended": list(event.ended)}
            if event.late:
                return "warning", "versions_noted", {**noted, "late": list(event.late)}
            return "info", "versions_noted", noted
        case Enqueued():
            # A backfill enqueues thousands; the line says how many and between which.
            ends = [format_instant(from_epoch(e)) for e in sorted(event.epochs)]
            span = {"first": ends[0], "last": ends[-1]} if ends else {}
            fields = {"schedule": event.schedule, "count": len(ends), **span}
            return "info", "enqueued", {**fields, "duplicates": event.duplicates}
        case HistoryPruned():
            return "info", "pruned", asdict(event.pruned)
        case KeysLeftOut():
            counts: dict[str, int] = {}
            for span_left in event.left_out:
                counts[span_left.reason] = counts.get(span_left.reason, 0) + span_left.count
            return "info", "keys_left_out", {"schedule": event.schedule, "counts": counts}
    assert_never(event)


def _pass_line(event: Reconciled | Followed) -> Line:
    match event:
        case Reconciled():
            found = {
                "missing": event.missing,
                "unexpected": event.unexpected,
                "orphaned": event.orphaned,
                "duration_s": event.duration.total_seconds(),
            }
            return "warning" if event.missing else "info", "reconciled", found
        case Followed():
            at = event.reconciled_at
            told = {"reconciled_at": format_instant(at) if at is not None else None}
            return "info" if event.fresh else "warning", "followed", told
    assert_never(event)


def _level(settlement: Settlement) -> Level:
    match settlement:
        case Settlement.COMPLETED | Settlement.CANCELLED | Settlement.RELEASED:
            return "info"
        case Settlement.RETRYING | Settlement.STALE:
            return "warning"
        case Settlement.DEAD:
            return "error"
    assert_never(settlement)


def _attempt_fields(event: Attempted) -> dict[str, Any]:
    # The message stays in the database: what a handler raises may quote its payload. The place
    # where it was raised quotes nothing.
    return _lease_fields(event.lease) | {
        "duration_s": round(event.duration.total_seconds(), 6),
        "wait_s": _waited(event.lease),
        "outcome": str(event.settlement),
        "error_class": event.error_class,
        "error_at": event.error_at,
    }


def _waited(lease: Lease) -> float:
    """From when it could be claimed until it was."""
    return max(0.0, round((lease.claimed_at - lease.eligible_at).total_seconds(), 6))


def _lease_fields(lease: Lease) -> dict[str, Any]:
    return {
        "job_id": lease.job_id,
        "key": lease.key,
        "kind": lease.kind,
        "queue": lease.queue,
        "attempt": lease.attempt,
        "lease_token": lease.token,
    }


def _heads_first(_logger: object, _method: str, fields: EventDict) -> EventDict:
    return {head: fields.pop(head) for head in ("ts", "level", "event")} | dict(fields)


def _json() -> Processor:
    return structlog.processors.JSONRenderer(json.dumps, ensure_ascii=False, default=str)


def _console(terminal: bool) -> Processor:
    colors = terminal and not os.environ.get("NO_COLOR")
    return structlog.dev.ConsoleRenderer(
        colors=colors, sort_keys=False, timestamp_key="ts", pad_event_to=0
    )
