"""The published schema of a log line against the lines of every event, in both directions."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from test_log_lines import LINES

from cronledger.adapters.observe.log_schema import EVENTS, LIFECYCLE, SOMETIMES, log_schema
from cronledger.adapters.observe.logs import log_events
from cronledger.cli.app import run
from cronledger.core.events import (
    Event,
    Lifecycle,
    LoopFailed,
    LoopRecovered,
    TelemetryFailed,
    TelemetrySent,
)

SOURCES = Path(__file__).parents[2] / "src" / "cronledger"
SECOND = timedelta(seconds=1)
SCHEMA = log_schema()
VALID = Draft202012Validator(SCHEMA)


def line_of(event: Event, ids: Mapping[str, str] | None = None, worker: str = "w") -> Any:
    out = io.StringIO()
    log_events(worker, stream=out, ids=lambda _: ids or {})(event)
    return json.loads(out.getvalue())


def lines() -> list[Any]:
    """A line of every event, and of each with what it has only sometimes."""
    ids = {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"}
    now = timedelta(0)
    out = io.StringIO()
    observe = log_events(stream=out, elapsed=lambda: now)
    for failed, over in (
        (LoopFailed("tick", "gone", "08006", SECOND), LoopRecovered("tick", 2)),
        (TelemetryFailed("traces", "gone", 1), TelemetrySent("traces", 2)),
    ):
        observe(failed)
        observe(failed)
        now += timedelta(minutes=2)
        observe(failed)
        observe(failed)
        observe(over)
    repeated = [json.loads(text) for text in out.getvalue().splitlines()]
    told = [line_of(Lifecycle(what, "detail")) for what in LIFECYCLE]
    return [line_of(event, ids) for event, *_ in LINES] + repeated + told


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("line", lines(), ids=lambda line: line["event"])
def test_a_line_fits_and_fits_no_more_without_a_field_or_with_one_more(line: Any) -> None:
    VALID.validate(line)
    optional = {"worker"} | SOMETIMES.get(line["event"], {}).keys()
    for name in line.keys() - optional:
        assert not VALID.is_valid({k: v for k, v in line.items() if k != name}), name
    assert not VALID.is_valid(line | {"payload": {}})
    for name in line.keys() - {"ts", "level", "event"}:
        assert not VALID.is_valid(line | {name: True}), name


def test_every_event_and_field_of_the_schema_is_in_a_line() -> None:
    seen: dict[str, set[str]] = {}
    for line in lines():
        seen.setdefault(line["event"], set()).update(line)
    said = {
        branch["properties"]["event"]["const"]: set(branch["properties"]) - {"worker"}
        for branch in SCHEMA["oneOf"]
    }
    assert {name: fields - {"worker"} for name, fields in seen.items()} == said
    assert not EVENTS.keys() & set(LIFECYCLE)


def test_what_processes_say_of_themselves_is_what_the_schema_lists() -> None:
    files = [file for file in SOURCES.rglob("*.py") if file.name != "log_schema.py"]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    quoted = set(re.findall(r'"((?:worker|sidecar|late)_[a-z_]+)"', text))
    assert set(LIFECYCLE) <= quoted
    said = set(re.findall(r'(?:Lifecycle\(\s*|_say\(|what = |else )"([a-z_]+)"', text))
    assert {word for word in said if word.startswith(("worker_", "sidecar_", "late_"))} <= set(
        LIFECYCLE
    )


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "log-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(SCHEMA))
