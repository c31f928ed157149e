"""The JSON Schema of `reconcile -o json`, and of a line of `-o jsonl`, which is one occurrence."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from cronledger.core.causes import Cause
from cronledger.core.diff import Fate, OccurrenceClass
from cronledger.core.plan import Reason
from cronledger.core.report import VERSION

Fields: TypeAlias = dict[str, Any]

COUNT: Fields = {"type": "integer", "minimum": 0}
# The time zone is always Z, seconds are whole.
INSTANT: Fields = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
TEXT: Fields = {"type": "string"}

SUMMARY: Fields = {
    "type": "object",
    "description": "Keys by class; a class without a key is 0.",
    "properties": {str(word): COUNT for word in OccurrenceClass},
    "required": list(OccurrenceClass),
}


def maybe(fields: Fields) -> Fields:
    """The same, or null."""
    return {"anyOf": [fields, {"type": "null"}]}


OCCURRENCE: Fields = {
    "key": TEXT | {"description": "<schedule>:<logical time>"},
    "schedule": TEXT,
    "logical_time": INSTANT,
    "class": {"enum": list(OccurrenceClass)},
    "fate": {"enum": list(Fate)},
    "reason": maybe({"enum": list(Reason)}) | {"description": "Why it is omitted or suppressed."},
    "cause": maybe({"enum": list(Cause)}) | {"description": "Likely, of an unexpected key."},
    "age_seconds": {"type": "number", "description": "How long ago its logical time was."},
    "state": maybe(TEXT) | {"description": "Of its job; null if there is none."},
    "job_id": maybe({"type": "integer"}),
    "via": maybe(TEXT) | {"description": "Who recorded it: tick, backfill, manual or external."},
    "recorded_at": maybe(INSTANT),
    "enqueued_at": maybe(INSTANT),
    "claimed_at": maybe(INSTANT),
    "committed_at": maybe(INSTANT),
}
GAP: Fields = {
    "first": INSTANT,
    "last": INSTANT,
    "count": COUNT | {"minimum": 1},
    "command": maybe(TEXT)
    | {"description": "Shows what it would fill; null if nothing of ours can fill it."},
}
SCHEDULE: Fields = {
    "expected": COUNT,
    "recorded": COUNT,
    "in_grace": COUNT | {"description": "Expected, not recorded, and not late yet."},
    "summary": {"$ref": "#/$defs/summary"},
    "gaps": {
        "type": "array",
        "description": "Missing keys with no other key between them, oldest first.",
        "items": {"$ref": "#/$defs/gap"},
    },
    "more_gaps": COUNT | {"description": "Gaps beyond those listed."},
}


def report_schema() -> Fields:
    """The schema, as JSON Schema 2020-12."""
    whole: Fields = {
        "schema_version": {"const": VERSION},
        "file": TEXT,
        "now": INSTANT | {"description": "The database's clock when the report was made."},
        "window": _object({"from": INSTANT | {"description": "Inclusive."}, "to": INSTANT})
        | {"description": "Half-open: `to` is not part of it."},
        "occurrences": {"type": "array", "items": {"$ref": "#/$defs/occurrence"}},
        "interrupted_after": maybe(TEXT) | {"description": "The last key looked at, if not all."},
        "expected": COUNT,
        "recorded": COUNT,
        "summary": {"$ref": "#/$defs/summary"},
        "schedules": {
            "type": "object",
            "description": "By schedule, worst first.",
            "additionalProperties": {"$ref": "#/$defs/schedule"},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"cronledger reconcile -o json, version {VERSION}",
        "description": "Fields may be added within a version; none goes or changes its meaning.",
        **_object(whole),
        "$defs": {
            "occurrence": _object(OCCURRENCE),
            "schedule": _object(SCHEDULE),
            "gap": _object(GAP),
            "summary": SUMMARY,
        },
    }


def report_schema_text() -> str:
    """The schema as text."""
    return json.dumps(report_schema(), indent=2) + "\n"


def _object(fields: Fields) -> Fields:
    """An object that always has all of these fields."""
    return {"type": "object", "properties": fields, "required": list(fields)}
