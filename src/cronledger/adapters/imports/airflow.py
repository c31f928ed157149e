"""Airflow files, read and never run: the schedule of each DAG, in the zone of its start date."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from cronledger.adapters.imports import cron_text, placeholders, python_source
from cronledger.adapters.imports.intervals import elapsed
from cronledger.adapters.imports.model import UTC, Caution, CronTrigger, Entry, Reading, Source
from cronledger.adapters.imports.python_source import Module, keyword, name_of, shown
from cronledger.core.cron import Layout

_SCHEDULES: Final = ("schedule", "schedule_interval", "timetable")
_TIMETABLES: Final = frozenset(
    {"CronTriggerTimetable", "CronDataIntervalTimetable", "MultipleCronTriggerTimetable"}
)
_IN_ZONE: Final = frozenset({"today", "now", "yesterday", "tomorrow", "in_timezone", "in_tz"})
_QUARTERLY: Final = "0 0 1 */3 *"
_TIMELESS: Final = {
    "@once": "runs once, not by the clock; use 'cronledger trigger'",
    "@continuous": "runs without a pause, not by the clock; write every: with a duration",
}


@dataclass(frozen=True, slots=True)
class _Dag:
    """A DAG as it stands in the code. `defaults` is its `default_args`."""

    module: Module
    call: ast.Call
    name: str
    defaults: dict[str, ast.expr]
    hidden: bool

    def argument(self, *names: str) -> ast.expr | None:
        """What is given for one of these arguments, by itself or in the default arguments."""
        given = keyword(self.call, *names)
        if given is not None:
            return given.value
        return next((self.defaults[name] for name in names if name in self.defaults), None)


def read(source: Source) -> Reading:
    """The schedules of the DAGs of a file, in its order."""
    module = python_source.parse(source.text, source.name)
    entries: list[Entry] = []
    cautions: list[Caution] = []
    for call in python_source.calls(module):
        if name_of(call) in {"DAG", "dag"}:
            entries += _entries(_dag(module, call), cautions)
    bare = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)]
    for function in bare:
        if any(name_of(mark) == "dag" and not isinstance(mark, ast.Call)
               for mark in function.decorator_list):  # fmt: skip
            message = f"the DAG {function.name} has no schedule; it runs by hand only"
            cautions.append(Caution("no-schedule", message, function.lineno))
    return Reading(tuple(entries), tuple(cautions))


def _dag(module: Module, call: ast.Call) -> _Dag:
    given = call.args[0] if call.args else None
    named = keyword(call, "dag_id")
    name = module.text(named.value if named else given)
    if name is None:
        above = module.parents.get(call)
        decorated = isinstance(above, ast.FunctionDef) and call in above.decorator_list
        name = above.name if decorated and isinstance(above, ast.FunctionDef) else ""
    arguments = keyword(call, "default_args")
    found = list(python_source.pairs(module, arguments.value)) if arguments else []
    defaults = {key: value for key, value in found if key is not None}
    hidden = any(key is None for key, _ in found) or any(w.arg is None for w in call.keywords)
    return _Dag(module, call, name or "", defaults, hidden)


def _entries(dag: _Dag, cautions: list[Caution]) -> Iterator[Entry]:
    given = keyword(dag.call, *_SCHEDULES)
    value = given.value if given else None
    if value is None and len(dag.call.args) > 2:
        value = dag.call.args[2]
    name = dag.name or "dag"
    if value is None:
        entry = Entry(dag.call.lineno, shown(dag.call), name)
        yield entry.refused("no schedule is given: Airflow 2 takes a day, Airflow 3 none; write it")
        return
    settled = dag.module.settled(value)
    if isinstance(settled, ast.Constant) and settled.value is None:
        message = f"the DAG {name} has no schedule; it runs by hand only"
        cautions.append(Caution("no-schedule", message, value.lineno))
        return
    line = value.lineno if given is None else given.lineno
    words = f"{given.arg if given else 'schedule'}={shown(value)}"
    start = Entry(line, words, name, day_rule="or", payload={"dag": name})
    if dag.module.inside(dag.call, *python_source.LOOPS):
        yield start.refused("the DAG is made in a loop; write each schedule out")
        return
    for entry in _scheduled(dag, start, settled):
        yield entry if entry.refusal else _settings(dag, entry)


def _scheduled(dag: _Dag, entry: Entry, node: ast.expr | None) -> Iterator[Entry]:
    """An entry for each schedule that a node holds."""
    text = dag.module.text(node)
    span = python_source.span(dag.module, node)
    name = name_of(node) if isinstance(node, ast.Call) else ""
    if text is not None:
        yield _in_zone(dag, _cron(entry, text), None)
    elif span is not None:
        yield elapsed(entry, span)
    elif isinstance(node, ast.Call) and name in _TIMETABLES:
        given = keyword(node, "cron")
        crons = [*node.args, *([given.value] if given else [])]
        zone = keyword(node, "timezone")
        if name != "MultipleCronTriggerTimetable" and len(crons) > 1:
            zone = zone or ast.keyword("timezone", crons[1])
            crons = crons[:1]
        for cron in crons:
            found = dag.module.text(cron)
            timed = entry.refused(f"not a literal: {shown(cron)}; write the cron out")
            timed = timed if found is None else _cron(entry, found)
            yield _in_zone(dag, timed, zone.value if zone else None)
        if not crons:
            yield entry.refused(f"no cron can be seen in {shown(node)}; write it out")
    elif isinstance(node, ast.Call) and name == "DeltaDataIntervalTimetable" and node.args:
        span = python_source.span(dag.module, node.args[0])
        yield elapsed(entry, span) if span else entry.refused(f"not a literal: {shown(node)}")
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) or "Asset" in name or "Dataset" in name:
        yield entry.refused("waits for assets or datasets, not for a time; nothing can be owed")
    else:
        yield entry.refused(f"not a literal: {shown(node)}; write the schedule out")


def _cron(entry: Entry, text: str) -> Entry:
    """The entry with a cron text as croniter reads it."""
    word = text.strip().lower()
    held = placeholders.in_schedule(text)
    if held:
        return entry.refused(f"template: the schedule is the placeholder {held}; fill it in first")
    if word in _TIMELESS:
        return entry.refused(_TIMELESS[word])
    spelled = _QUARTERLY if word == "@quarterly" else cron_text.macro(word) or text
    trigger = croniter_trigger(spelled)
    problem = cron_text.problem_of(trigger)
    return entry.refused(problem) if problem else replace(entry, trigger=trigger)


def croniter_trigger(text: str) -> CronTrigger:
    """A cron of croniter: seconds stand sixth, ranges may run over the end, `L5` is our `5L`."""
    words = [cron_text.any_value(word) for word in text.split()]
    named = dict(zip(cron_text.FIVE_NAMES, words, strict=False))
    words[: len(named)] = [cron_text.unwrapped(word, name) for name, word in named.items()]
    if len(words) >= 5:
        words[4] = ",".join(_last_weekday(item) for item in words[4].split(","))
    if len(words) == 6:
        return cron_text.trigger_of([words[5], *words[:5]], Layout.SECONDS)
    if len(words) == 7:
        return cron_text.trigger_of([words[5], *words[:5], words[6]], Layout.SEVEN)
    return CronTrigger(" ".join(words))


def _last_weekday(item: str) -> str:
    upper = item.upper()
    return f"{upper[1:]}L" if len(upper) == 2 and upper[0] == "L" and upper[1].isdigit() else item


def _in_zone(dag: _Dag, entry: Entry, given: ast.expr | None) -> Entry:
    """The entry in the zone of its timetable, else in that of the start date."""
    if given is not None:
        zone = python_source.zone(dag.module, given)
        reason = f"the zone is not a literal: {shown(given)}; write it out"
        return replace(entry, zone=zone) if zone else entry.refused(reason)
    start = dag.argument("start_date")
    if start is None:
        if not dag.hidden or entry.refusal:
            return entry
        message = "start_date may hide in arguments that are not literals; UTC is taken"
        return entry.warned(Caution("zone-assumed", message))
    found = _zone_of(dag.module, start)
    if isinstance(found, ast.expr):
        zone = python_source.zone(dag.module, found)
        reason = f"the zone of start_date is not a literal: {shown(found)}; write it out"
        return replace(entry, zone=zone) if zone else entry.refused(reason)
    return replace(entry, zone=found)


def _zone_of(module: Module, node: ast.expr | None) -> ast.expr | str | None:
    """The zone in a start date: the node that gives it, or its name; None if it has none."""
    node = module.settled(node)
    while isinstance(node, ast.Call):
        given = _zone_in(node)
        if given is not None:
            return given
        # pendulum.today("Europe/Paris").add(days=-1): what the method is called on has the zone.
        node = module.settled(node.func.value) if isinstance(node.func, ast.Attribute) else None
    return _zone_of(module, node.left) if isinstance(node, ast.BinOp) else None


def _zone_in(call: ast.Call) -> ast.expr | str | None:
    """The zone that a call which makes a time is given."""
    given = keyword(call, "tz", "tzinfo", "timezone")
    name = name_of(call)
    if given is not None:
        return given.value
    if name in _IN_ZONE and call.args:
        return call.args[0]
    if name == "datetime" and len(call.args) == 8:
        return call.args[7]
    if name in {"localize", "convert"} and isinstance(call.func, ast.Attribute):
        return call.func.value
    return (
        UTC if python_source.dotted(call.func) in {"pendulum.datetime", "pendulum.today"} else None
    )


def _settings(dag: _Dag, entry: Entry) -> Entry:
    """The entry with what the DAG says of catching up and of being paused."""
    catchup = dag.argument("catchup")
    value = dag.module.settled(catchup)
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        entry = replace(entry, catchup="all" if value.value else "latest")
    elif catchup is not None:
        message = f"catchup is not a literal: {shown(catchup)}; left out"
        entry = entry.warned(Caution("unknown-value", message))
    paused = dag.module.settled(dag.argument("is_paused_upon_creation"))
    if isinstance(paused, ast.Constant) and paused.value is True:
        message = "is_paused_upon_creation=True, so it is carried as paused"
        entry = entry.warned(Caution("suspended", message))
        entry = replace(entry, pause="paused upon creation in Airflow")
    return entry
