"""Dagster files, read and never run: schedule definitions and decorated schedules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cronledger.adapters.imports import cron_text, placeholders, python_source
from cronledger.adapters.imports.airflow import croniter_trigger
from cronledger.adapters.imports.model import Caution, Entry, Reading, Source
from cronledger.adapters.imports.python_source import Module, keyword, name_of, shown

_LEGACY: Final = frozenset(
    {"daily_schedule", "hourly_schedule", "weekly_schedule", "monthly_schedule"}
)
_CONDITIONS: Final = frozenset({"on_cron", "cron_tick_passed"})


def read(source: Source) -> Reading:
    """The schedules of a file, in its order."""
    module = python_source.parse(source.text, source.name)
    entries: list[Entry] = []
    for call in python_source.calls(module):
        entries += _entries(module, call)
    return Reading(tuple(entries), (), zone_matters=False)


def _entries(module: Module, call: ast.Call) -> Iterator[Entry]:
    name = name_of(call)
    decorated = _decorated(module, call)
    if name == "ScheduleDefinition" or (name == "schedule" and decorated):
        yield from _schedule(module, call, decorated)
    elif name == "build_schedule_from_partitioned_job":
        reason = "takes its times from the partitions of a job; write a cron"
        yield Entry(call.lineno, shown(call), _name(module, call, "")).refused(reason)
    elif name in _LEGACY and decorated:
        reason = f"@{name} is of an old Dagster; write a cron"
        yield Entry(call.lineno, shown(call), decorated).refused(reason)
    elif name in _CONDITIONS:
        reason = "a condition on assets that a cron is part of, not a schedule; write a cron"
        yield Entry(call.lineno, shown(call), "condition").refused(reason)


def _decorated(module: Module, call: ast.Call) -> str:
    """The function that a call decorates; "" if it is no decorator."""
    above = module.parents.get(call)
    is_function = isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef)
    if is_function and isinstance(above, ast.FunctionDef) and call in above.decorator_list:
        return above.name
    return ""


def _name(module: Module, call: ast.Call, decorated: str) -> str:
    given = keyword(call, "name")
    job = keyword(call, "job", "job_name", "target")
    target = module.text(job.value) or name_of(job.value) if job else ""
    return (module.text(given.value) if given else "") or decorated or target or "schedule"


def _schedule(module: Module, call: ast.Call, decorated: str) -> Iterator[Entry]:
    given = keyword(call, "cron_schedule")
    value = given.value if given else None
    if value is None and call.args:
        value = call.args[1] if not decorated and len(call.args) > 1 else call.args[0]
    name = _name(module, call, decorated)
    if value is None:
        entry = Entry(call.lineno, shown(call), name)
        yield entry.refused("no cron_schedule can be seen; write it out")
        return
    settled = module.settled(value) or value
    parts = settled.elts if isinstance(settled, ast.List | ast.Tuple) else [value]
    zone = keyword(call, "execution_timezone")
    for part in parts:
        line = part.lineno if len(parts) > 1 or given is None else given.lineno
        entry = Entry(line, f"cron_schedule={shown(part)}", name, day_rule="or")
        job = keyword(call, "job", "job_name", "target")
        target = (module.text(job.value) or name_of(job.value)) if job else ""
        entry = replace(entry, payload={"job": target or name}, kind=target)
        if module.inside(call, *python_source.LOOPS):
            yield entry.refused("the schedule is made in a loop; write each one out")
            continue
        yield _guarded(call, _in_zone(module, _cron(module, entry, part), zone))


def _cron(module: Module, entry: Entry, node: ast.expr) -> Entry:
    text = module.text(node)
    if text is None:
        return entry.refused(f"not a literal: {shown(node)}; write the cron out")
    held = placeholders.in_schedule(text)
    if held:
        return entry.refused(f"template: the schedule is the placeholder {held}; fill it in first")
    spelled = cron_text.macro(text.strip()) or text
    if len(spelled.split()) != 5:
        count = len(spelled.split())
        return entry.refused(f"{count} field{'s' * (count != 1)}; Dagster takes five, or a macro")
    trigger = croniter_trigger(spelled)
    problem = cron_text.problem_of(trigger)
    return entry.refused(problem) if problem else replace(entry, trigger=trigger)


def _in_zone(module: Module, entry: Entry, given: ast.keyword | None) -> Entry:
    settled = module.settled(given.value) if given else None
    if given is None or (isinstance(settled, ast.Constant) and settled.value is None):
        return entry
    zone = python_source.zone(module, given.value)
    reason = f"the zone is not a literal: {shown(given.value)}; write it out"
    return replace(entry, zone=zone) if zone else entry.refused(reason)


def _guarded(call: ast.Call, entry: Entry) -> Entry:
    if entry.refusal or keyword(call, "should_execute") is None:
        return entry
    message = "should_execute decides at each time, so it does less than the schedule says"
    return entry.warned(Caution("guard-in-command", message))
