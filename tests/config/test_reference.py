"""The page about the schedule file names every key with its default, and its examples load."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from datetime import timedelta
from pathlib import Path

import pytest
from schedule_files import read

from cronledger.adapters.config.models import (
    CalendarModel,
    CatchupModel,
    CronModel,
    DstModel,
    ExceptModel,
    FileModel,
    HolidaysModel,
    JobModel,
    PauseModel,
    ScheduleModel,
    TriggerModel,
    VersionModel,
)
from cronledger.adapters.config.queues import BackoffModel, QueueModel, RetentionModel
from cronledger.adapters.config.words import LATER, keys_of
from cronledger.core.instants import format_duration
from cronledger.core.routing import Routing
from cronledger.core.schedule import (
    DST_PRESETS,
    Catchup,
    JobSpec,
    QueueSpec,
    Retention,
    Schedule,
    Timing,
)

PAGE = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
ROWS = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
MODELS = (
    FileModel,
    CalendarModel,
    HolidaysModel,
    TriggerModel,
    ExceptModel,
    ScheduleModel,
    VersionModel,
    CronModel,
    DstModel,
    CatchupModel,
    PauseModel,
    JobModel,
    QueueModel,
    BackoffModel,
    RetentionModel,
)
# What a default of the core is called on the page where the two differ.
SPELLED = {
    "backoff_base": "base",
    "backoff_cap": "cap",
    "maximum": "max",
    "schedule_class": "class",
}
OWN_TABLE = {
    "aliases",
    "exclusions",
    "pace",
    "trigger",
    "catchup",
    "dst",
    "payload",
    "pauses",
    "routing",
    "skip",
    "versions",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.__name__))
def test_every_key_has_its_row(model: type[FileModel]) -> None:
    rows = {key for key, _ in ROWS}
    assert set(keys_of(model)) <= rows


def test_the_page_has_no_row_for_a_key_that_is_not_read() -> None:
    known = {key for model in MODELS for key in keys_of(model)} | set(DST_PRESETS)
    assert {key for key, _ in ROWS} <= known
    assert not known & set(LATER)


@pytest.mark.parametrize(
    "kind", [Timing, Schedule, Catchup, JobSpec, QueueSpec, Retention, Routing]
)
def test_every_default_of_the_core_is_the_one_on_the_page(kind: type[Timing]) -> None:
    for field in fields(kind):
        value = field.default
        if value is MISSING or value is None or field.name in OWN_TABLE:
            continue
        text = format_duration(value) if isinstance(value, timedelta) else str(value)
        assert (SPELLED.get(field.name, field.name), f"`{text}`") in ROWS


@pytest.mark.parametrize("name", DST_PRESETS)
def test_every_preset_is_on_the_page(name: str) -> None:
    dst = DST_PRESETS[name]
    assert f"| `{name}` | {dst.gap} | {dst.fold} | {dst.wildcard} |" in PAGE


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_loads(text: str) -> None:
    assert read(text).path


def test_there_is_an_example_of_every_key() -> None:
    shown = set(re.findall(r"[\w-]+(?=:)", "\n".join(EXAMPLES)))
    known = {key for model in MODELS for key in keys_of(model)}
    # Named in the other form: dst by its parts shows them all but one.
    assert known - shown <= {"wildcard"}
