"""The JSON Schema of the schedule file, from the models that read it.

It accepts what the reader accepts, seen as editors see YAML: a number without quotes is a number.
What no schema can say (that an expression fires, that an end is after its start) `check` says.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from cronledger.adapters.config.calendars import EXCEPT_MAX
from cronledger.adapters.config.described import DESCRIPTIONS, EXAMPLES
from cronledger.adapters.config.load import VERSION
from cronledger.adapters.config.models import (
    QUEUE_NAME,
    CalendarModel,
    DefaultsModel,
    ExceptModel,
    FileModel,
    ScheduleModel,
    TriggerModel,
    VersionModel,
)
from cronledger.adapters.config.queues import QueueModel, RetentionModel
from cronledger.adapters.config.timings import VERSIONS_MAX
from cronledger.adapters.config.triggers import ANY_MAX, KINDS
from cronledger.adapters.config.words import keys_of
from cronledger.core.instants import format_duration
from cronledger.core.keys import SCHEDULE_ID
from cronledger.core.routing import Routing
from cronledger.core.schedule import Catchup, JobSpec, QueueSpec, Retention, Schedule, Timing

Schema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PARTS: Final = (
    CalendarModel,
    DefaultsModel,
    ExceptModel,
    QueueModel,
    RetentionModel,
    ScheduleModel,
    TriggerModel,
    VersionModel,
)
_BARE_CRON: Final = r"^\s*(@[A-Za-z]+|\S+(\s+\S+){4})\s*$"
# Where the defaults of a shape stand in the core, and what their names begin with there.
_DEFAULTS: Final[dict[str, tuple[tuple[type[Any], str], ...]]] = {
    "defaults": ((Timing, ""), (Schedule, ""), (Routing, "")),
    "schedule": ((Timing, ""), (Schedule, ""), (Routing, "")),
    "version": ((Timing, ""),),
    "catchup": ((Catchup, ""),),
    "job": ((JobSpec, ""),),
    "jobdefaults": ((JobSpec, ""),),
    "queue": ((QueueSpec, ""),),
    "backoff": ((QueueSpec, "backoff_"),),
    "retention": ((Retention, ""),),
}
# As the core calls what the file calls otherwise.
_IN_CORE: Final = {"max": "maximum", "class": "schedule_class"}


def schema_text(zones: Collection[str]) -> str:
    """The schema as it is written to a file; `zones` are the names that `timezone` knows."""
    return json.dumps(file_schema(zones), indent=2, ensure_ascii=False) + "\n"


def file_schema(zones: Collection[str]) -> Schema:
    """The schema of the whole file, draft 2020-12."""
    _, found = models_json_schema(
        [(model, "validation") for model in _PARTS], ref_template="#/$defs/{model}"
    )
    shapes = {_name(model): _plain(shape) for model, shape in found["$defs"].items()}
    _narrow(shapes)
    for name, shape in shapes.items():
        for key, value in shape["properties"].items():
            _explain(name, key, value)
    return {
        "$schema": _DIALECT,
        "title": "cronledger schedule file",
        "type": "object",
        "properties": _top(),
        "required": ["version", "schedules"],
        "additionalProperties": False,
        "$defs": {**shapes, "timezone": {"enum": sorted(zones)}},
    }


def _top() -> Schema:
    by_key: Schema = {
        "version": {"enum": [int(VERSION), VERSION]},
        "tzdata": {"type": "string", "pattern": r"^(>=)?\s*[0-9]{4}[a-z]{1,2}$"},
        "calendars": _named("calendar", QUEUE_NAME.pattern),
        "defaults": {"$ref": "#/$defs/defaults"},
        "queues": _named("queue", QUEUE_NAME.pattern),
        "retry_budget": {"$ref": "#/$defs/queue/properties/retry_budget"},
        "budget_mode": {"$ref": "#/$defs/queue/properties/budget_mode"},
        "retention": {"$ref": "#/$defs/retention"},
        "schedules": _named("schedule", SCHEDULE_ID.pattern),
    }
    keys = keys_of(FileModel)
    return {key: {**by_key.get(key, {}), "description": DESCRIPTIONS[key]} for key in keys}


def _named(shape: str, pattern: str) -> Schema:
    names = {"pattern": f"^{pattern}$"}
    values = {"$ref": f"#/$defs/{shape}"}
    return {"type": "object", "propertyNames": names, "additionalProperties": values}


def _list(shape: str, most: int) -> Schema:
    items = {"$ref": f"#/$defs/{shape}"}
    return {"type": "array", "minItems": 1, "maxItems": most, "items": items}


def _name(model: str) -> str:
    return model.removesuffix("Model").lower()


def _plain(schema: Any) -> Any:
    """Without titles and nulls: in the file a key has a value, or is not there."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {
        key: {name: _plain(value) for name, value in inner.items()}
        if key == "properties"
        else _plain(inner)
        for key, inner in schema.items()
        if key != "title" and (key, inner) != ("default", None)
    }
    if "$ref" in found:
        found["$ref"] = f"#/$defs/{_name(found['$ref'].rsplit('/', 1)[1])}"
    if len(found.get("anyOf", ())) == 1:
        found |= found.pop("anyOf")[0]
    return found


def _narrow(shapes: Schema) -> None:
    """What the models leave to the code that reads their values."""
    schedule, version = shapes["schedule"], shapes["version"]
    for shape in (shapes["defaults"], schedule, version):
        shape["properties"]["timezone"] = {"$ref": "#/$defs/timezone"}
    for shape in (schedule, version, shapes["trigger"], shapes["except"]):
        shape["properties"]["cron"]["anyOf"][0]["pattern"] = _BARE_CRON
    schedule["oneOf"] = [{"required": [kind]} for kind in (*KINDS, "versions")]
    version["oneOf"] = [{"required": [kind]} for kind in KINDS]
    shapes["trigger"]["oneOf"] = [{"required": [kind]} for kind in KINDS if kind != "any"]
    kinds = ("dates", "between", "cron", "rrule")
    shapes["except"]["oneOf"] = [{"required": [kind]} for kind in kinds]
    for shape in (schedule, version):
        shape["properties"] |= {
            "any": _list("trigger", ANY_MAX),
            "except": _list("except", EXCEPT_MAX),
            "calendar": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/calendar"}]},
        }
    schedule["properties"]["versions"] = _list("version", VERSIONS_MAX)
    shapes["job"]["properties"]["payload"] = {"type": "object"}


def _explain(name: str, key: str, value: Schema) -> None:
    value["description"] = DESCRIPTIONS.get(f"{name}.{key}", DESCRIPTIONS.get(key, ""))
    if key in EXAMPLES:
        value["examples"] = EXAMPLES[key]
    for kind, prefix in _DEFAULTS.get(name, ()):
        for field in fields(kind):
            if field.name == prefix + _IN_CORE.get(key, key):
                _give_default(value, field.default)


def _give_default(value: Schema, default: object) -> None:
    if isinstance(default, timedelta):
        value["default"] = format_duration(default)
    elif isinstance(default, str | int):
        value["default"] = default if type(default) is int else str(default)
