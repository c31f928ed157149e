"""The JSON Schema of a log line: which events there are, and the fields of each."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from cronledger.core.lifecycle import Settlement
from cronledger.core.plan import Reason

Fields: TypeAlias = dict[str, Any]

TEXT: Fields = {"type": "string"}
TEXTS: Fields = {"type": "array", "items": TEXT}
COUNT: Fields = {"type": "integer", "minimum": 0}
SPAN: Fields = {"type": "number", "minimum": 0}
INSTANT: Fields = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"}
MAYBE: Fields = {"type": ["string", "null"]}

LEASE: Fields = {
    "job_id": COUNT,
    "key": TEXT,
    "kind": TEXT,
    "queue": TEXT,
    "attempt": {"type": "integer", "minimum": 1},
    "lease_token": COUNT,
}
PROBLEMS: Fields = {"path": TEXT, "problems": TEXTS}

# By event: its fields, all of which are always there.
EVENTS: dict[str, Fields] = {
    "attempt": LEASE
    | {
        "duration_s": SPAN,
        "wait_s": SPAN,
        "outcome": {"enum": list(Settlement)},
        "error_class": MAYBE,
        "error_at": MAYBE,
    },
    "lease_lost": LEASE,
    "rescued": {"count": COUNT},
    "loop_failed": {"loop": TEXT, "error": TEXT, "sqlstate": TEXT, "delay_s": SPAN},
    "loop_recovered": {"loop": TEXT, "failures_before": COUNT},
    "telemetry_failed": {"signal": TEXT, "reason": TEXT, "failures": COUNT},
    "telemetry_sent": {"signal": TEXT, "failures_before": COUNT},
    "enqueued": {"schedule": TEXT, "count": COUNT, "duplicates": COUNT},
    "keys_left_out": {
        "schedule": TEXT,
        "counts": {
            "type": "object",
            "propertyNames": {"enum": list(Reason)},
            "additionalProperties": COUNT,
        },
    },
    "reconciled": {
        "missing": COUNT,
        "unexpected": COUNT,
        "orphaned": COUNT,
        "duration_s": SPAN,
    },
    "followed": {"reconciled_at": {"anyOf": [INSTANT, {"type": "null"}]}},
    "pruned": {
        "days": COUNT,
        "jobs": COUNT,
        "keys": COUNT,
        "receipts": COUNT,
        "occurrences": COUNT,
    },
    "versions_noted": {"opened": TEXTS, "ended": TEXTS},
    "file_reloaded": {"path": TEXT, "digest": TEXT, "schedules": COUNT},
    "reload_failed": PROBLEMS,
    "web_config_reloaded": {"path": TEXT},
    "web_config_reload_failed": PROBLEMS,
    "ping_sent": {"failures_before": COUNT},
    "ping_failed": {"reason": TEXT, "failures": COUNT},
    "schedules_disputed": {"ended_by_another_file": TEXTS},
}
# What a process says of itself, for people to read.
LIFECYCLE = (
    "sidecar_started",
    "sidecar_stopped",
    "sidecar_stopped_in_a_pass",
    "sidecar_leads",
    "sidecar_follows",
    "sidecar_did_not_resign",
    "worker_started",
    "worker_draining",
    "worker_stopped",
    "worker_clogged",
    "worker_unclogged",
    "worker_listens",
    "worker_polls_only",
    "late_result_dropped",
)
# Fields that only some lines of an event have.
SOMETIMES: dict[str, Fields] = {
    "attempt": {
        "trace_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "span_id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    },
    "enqueued": {"first": INSTANT, "last": INSTANT},
    "versions_noted": {"late": TEXTS},
    "loop_failed": {"suppressed": COUNT},
    "loop_recovered": {"suppressed": COUNT},
    "telemetry_failed": {"suppressed": COUNT},
    "telemetry_sent": {"suppressed": COUNT},
}


def log_schema() -> Fields:
    """The schema, as JSON Schema 2020-12."""
    events = EVENTS | {name: {"detail": TEXT} for name in LIFECYCLE}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of cronledger's log",
        "oneOf": [_line(name, fields) for name, fields in events.items()],
    }


def log_schema_text() -> str:
    """The schema as text."""
    return json.dumps(log_schema(), indent=2) + "\n"


def _line(name: str, fields: Fields) -> Fields:
    head: Fields = {
        "ts": INSTANT,
        "level": {"enum": ["info", "warning", "error"]},
        "event": {"const": name},
    }
    return {
        "type": "object",
        "properties": head | fields | SOMETIMES.get(name, {}) | {"worker": TEXT},
        "required": [*head, *fields],
        "additionalProperties": False,
    }
