"""Celery beat modules, read and never run: each entry of a beat schedule, each periodic task."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cronledger.adapters.imports import celery_crontab, python_source
from cronledger.adapters.imports.celery_crontab import RefusedError
from cronledger.adapters.imports.intervals import every
from cronledger.adapters.imports.model import Caution, CronTrigger, Entry, Reading, Source
from cronledger.adapters.imports.python_source import Module, keyword, name_of, shown

_TABLES: Final = frozenset({"beat_schedule", "celerybeat_schedule", "celery_beat_schedule"})
_ZONES: Final = frozenset({"timezone", "celery_timezone"})


@dataclass(slots=True)
class _Beat:
    """What a module says: entries by class and name, a later one in place of an earlier one."""

    module: Module
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    cautions: list[Caution] = field(default_factory=list)
    zone: ast.expr | None = None
    scope: str = ""

    def take(self, node: ast.AST) -> None:
        """One part of the module."""
        inside = self.module.within(node, ast.ClassDef)
        self.scope = inside.name if isinstance(inside, ast.ClassDef) else ""
        for target, value in python_source.assignments(node):
            if isinstance(target, ast.Subscript) and _is_table(target.value):
                self.item(self.module.text(target.slice) or shown(target.slice), value)
            elif isinstance(target, ast.Name | ast.Attribute):
                self.assign(name_of(target), value)
        if isinstance(node, ast.Call) and name_of(node) == "add_periodic_task":
            self.periodic(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "update" and name_of(node.func.value) == "conf":
                for name, value in python_source.pairs(self.module, node):
                    self.assign(name or "", value)
            elif node.func.attr == "update" and _is_table(node.func.value):
                self.table(node)

    def assign(self, name: str, value: ast.expr) -> None:
        """One setting that is given a value."""
        if name.lower() in _ZONES:
            self.zone = value
        elif name == "CELERY" and isinstance(value, ast.Dict | ast.Call):
            for key, found in python_source.pairs(self.module, value):
                self.assign(key or "", found)
        elif name.lower() in _TABLES and not self._is_held(value):
            if self.module.within(value, ast.If, ast.Try) is None:
                self._replace_all(value.lineno)
            self.table(value)

    def _is_held(self, value: ast.expr) -> bool:
        """Whether a value is a table that was already read under its own name."""
        return _is_table(value) and bool(self.module.names.get(name_of(value)))

    def _replace_all(self, line: int) -> None:
        for entry in [kept for key, kept in self.entries.items() if key[0] == self.scope]:
            message = f"{entry.name!r} (line {entry.line}) is replaced by a later assignment"
            self.cautions.append(Caution("overridden", message, line))
        self.entries = {key: kept for key, kept in self.entries.items() if key[0] != self.scope}

    def table(self, value: ast.expr) -> None:
        """The entries of one beat schedule."""
        for name, found in python_source.pairs(self.module, value):
            if name is None:
                entry = Entry(found.lineno, shown(found), "beat-schedule")
                self.add("", entry.refused(f"not a literal: {shown(found)}; write the entries out"))
            else:
                self.item(name, found)

    def item(self, name: str, value: ast.expr) -> None:
        """One entry of a beat schedule."""
        found = list(python_source.pairs(self.module, value))
        schedules = [schedule for key, schedule in found if key == "schedule"]
        if not schedules:
            entry = Entry(value.lineno, shown(value), name)
            self.add(name, entry.refused(f"no 'schedule' can be seen in {shown(value)}"))
            return
        last = schedules[-1]
        given = {key: part for key, part in found if key is not None}
        task = self.module.text(given.get("task")) or ""
        entry = Entry(last.lineno, f"{name}: {shown(last)}", name, kind=task)
        entry = self._scheduled(replace(entry, payload=_payload(self.module, task, given)), last)
        if len(schedules) > 1:
            entry = _with_others(entry, len(schedules))
        self.add(name, entry)

    def periodic(self, call: ast.Call) -> None:
        """A call of add_periodic_task."""
        named = {word.arg: word.value for word in call.keywords if word.arg}
        given = dict(zip(("schedule", "sig", "args", "kwargs", "name"), call.args, strict=False))
        given |= named
        schedule = given.get("schedule")
        signature = given.get("sig")
        inner = signature.func if isinstance(signature, ast.Call) else signature
        task = name_of(inner.value if isinstance(inner, ast.Attribute) else inner)
        name = self.module.text(given.get("name")) or ""
        line = call.lineno if schedule is None else schedule.lineno
        entry = Entry(line, f"add_periodic_task({shown(schedule)})", name or task, kind=task)
        if schedule is None:
            self.add(name, entry.refused("no schedule can be seen in add_periodic_task(...)"))
            return
        payload = {"task": task, "signature": shown(signature)} if signature is not None else {}
        self.add(name, self._scheduled(replace(entry, payload=payload), schedule))

    def add(self, name: str, entry: Entry) -> None:
        """Keep an entry; one of the same name is replaced, which is said."""
        before = self.entries.pop((self.scope, name), None) if name else None
        if before is not None:
            message = f"{name!r} (line {before.line}) is replaced by a later entry of that name"
            self.cautions.append(Caution("overridden", message, entry.line))
        self.entries[self.scope, name or f"\n{len(self.entries)}"] = entry

    def _scheduled(self, entry: Entry, node: ast.expr) -> Entry:
        """The entry with what its schedule says, or refused."""
        if self.module.inside(node, *python_source.LOOPS):
            return entry.refused(f"made in a loop: {shown(node)}; write each schedule out")
        branch = self.module.within(node, ast.If, ast.IfExp)
        if branch is not None:
            condition = shown(branch.test) if isinstance(branch, ast.If | ast.IfExp) else ""
            message = f"it stands under the condition {condition}, which is not read"
            entry = entry.warned(Caution("conditional", message))
        settled = self.module.settled(node) or node
        try:
            return self._by_kind(entry, settled)
        except RefusedError as error:
            return entry.refused(str(error))

    def _by_kind(self, entry: Entry, node: ast.expr) -> Entry:
        name = name_of(node) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name == "crontab":
            trigger, cautions = celery_crontab.read(self.module, node)
            return replace(entry, trigger=trigger).warned(*cautions)
        if name == "solar":
            return entry.refused("the position of the sun, not a time of the clock; write a cron")
        if isinstance(node, ast.Call) and name == "schedule":
            given = keyword(node, "run_every")
            node = given.value if given else (node.args[0] if node.args else node)
            node = self.module.settled(node) or node
        span = python_source.span(self.module, node)
        return every(entry, span if span is not None else python_source.number(node), node)


def read(source: Source) -> Reading:
    """Every entry of the beat schedules in a module, in the order of the file."""
    module = python_source.parse(source.text, source.name)
    beat = _Beat(module)
    for node in _in_order(module.tree):
        beat.take(node)
    zone, reason = _zone(beat)
    entries = [_in_zone(entry, zone, reason) for entry in beat.entries.values()]
    entries.sort(key=lambda entry: entry.line)
    return Reading(tuple(entries), tuple(beat.cautions))


def _in_order(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements and calls in the order of the file, a table before what stands in it."""
    kinds = (ast.Assign, ast.AnnAssign, ast.Call)
    found = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _is_table(node: ast.expr) -> bool:
    return name_of(node).lower() in _TABLES


def _zone(beat: _Beat) -> tuple[str | None, str]:
    """The zone of the application, None if the module names none, or why it is not known."""
    if beat.zone is None:
        return None, ""
    found = python_source.zone(beat.module, beat.zone)
    reason = f"the zone is not a literal: {shown(beat.zone)}; write it out"
    return found, "" if found else reason


def _in_zone(entry: Entry, zone: str | None, reason: str) -> Entry:
    if not isinstance(entry.trigger, CronTrigger):
        return replace(entry, day_rule="and")
    entry = replace(entry, zone=zone, day_rule="and")
    return entry.refused(reason) if reason else entry


def _with_others(entry: Entry, count: int) -> Entry:
    message = f"the key 'schedule' stands {count} times in it; Python keeps the last"
    if entry.refusal:
        return replace(entry, refusal=f"{entry.refusal} ({message})")
    return entry.warned(Caution("overridden", message))


def _payload(module: Module, task: str, given: dict[str, ast.expr]) -> dict[str, Any]:
    found = {key: python_source.plain(module, given.get(key)) for key in ("args", "kwargs")}
    payload = {"task": task} if task else {}
    return payload | {key: value for key, value in found.items() if value}
