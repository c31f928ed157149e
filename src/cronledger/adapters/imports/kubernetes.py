"""Kubernetes manifests: which objects are CronJobs, and what each of them owes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from cronledger.adapters.imports import cron_text, placeholders, yaml_tree
from cronledger.adapters.imports.durations import go_duration
from cronledger.adapters.imports.model import (
    Caution,
    CronTrigger,
    Entry,
    Every,
    Reading,
    Source,
    Trigger,
)
from cronledger.adapters.imports.yaml_tree import Document, Items, Map, Node, Text, text_at

OBJECTS_MAX = 20_000
_KNOWN: Final = frozenset(
    [
        "schedule",
        "timeZone",
        "startingDeadlineSeconds",
        "concurrencyPolicy",
        "suspend",
        "jobTemplate",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ]
)
_OLD: Final = frozenset({"batch/v1beta1", "batch/v2alpha1"})
_SCHEDULE_LINE = re.compile(r"^\s*(?:-\s+)?[\"']?schedule[\"']?\s*:(?P<value>.*)$")
_KIND_LINE = re.compile(r"^\s*(?:-\s+)?[\"']?kind[\"']?\s*:\s*[\"']?(?P<kind>\w+)", re.MULTILINE)
_SECOND = timedelta(seconds=1)
_LONGEST = timedelta(days=400)
# What `concurrencyPolicy` is called here.
_OVERLAPS = {"Forbid": "skip", "Replace": "cancel_other"}
_TEMPLATE = (
    "template: the file is not YAML before its template is filled in; render it first "
    "(helm template)"
)


def read(source: Source) -> Reading:
    """The CronJobs of a manifest; objects of other kinds are passed over."""
    entries: list[Entry] = []
    cautions: list[Caution] = []
    rendered = True
    for document in yaml_tree.documents(source.text):
        if document.root is None:
            rendered = rendered and not placeholders.is_template(document.text)
            entries += _unreadable(document, cautions)
            continue
        for node in _objects(document.root):
            kind = text_at(node, "kind") or ""
            if kind == "CronJob":
                entries.append(_cron_job(node))
            elif (schedule := yaml_tree.at(node, "spec", "schedule")) is not None:
                message = f"a {kind or 'thing of no kind'} with a schedule is no CronJob; skipped"
                cautions.append(Caution("other-kind", message, schedule.line))
    if not rendered:
        entries = [entry.refused(_TEMPLATE) for entry in entries]
    return Reading(tuple(entries), tuple(cautions), zone_matters=False)


def _objects(root: Node) -> Iterator[Map]:
    """The objects of a document, those in lists as well."""
    waiting: list[Node] = [root]
    seen = 0
    while waiting and seen < OBJECTS_MAX:
        node = waiting.pop(0)
        seen += 1
        if isinstance(node, Items):
            waiting += node.items
        elif isinstance(node, Map):
            items = yaml_tree.at(node, "items")
            if (text_at(node, "kind") or "").endswith("List") and isinstance(items, Items):
                kind = (text_at(node, "kind") or "").removesuffix("List")
                waiting += [_of_kind(item, kind) for item in items.items]
            else:
                yield node


def _of_kind(node: Node, kind: str) -> Node:
    """An item of a typed list, which need not repeat its kind."""
    if not kind or not isinstance(node, Map) or "kind" in node.entries:
        return node
    return replace(node, entries={**node.entries, "kind": (node.line, Text(kind, node.line))})


def _unreadable(document: Document, cautions: list[Caution]) -> Iterator[Entry]:
    """A refused entry for each schedule that the text of a broken document shows."""
    kinds = {match["kind"] for match in _KIND_LINE.finditer(document.text)}
    reason = f"{document.problem} at line {document.problem_line}"
    template = placeholders.is_template(document.text)
    if kinds and not kinds & {"CronJob", "CronJobList", "List"}:
        message = f"a {min(kinds)} cannot be read and is passed over: {reason}"
        cautions.append(Caution("other-kind", message, document.problem_line))
        return
    lines = enumerate(document.text.split("\n"), document.first_line)
    found = [(number, line) for number, line in lines if _SCHEDULE_LINE.match(line)]
    for number, line in found or [(document.problem_line, document.text.strip().split("\n")[0])]:
        why = _TEMPLATE if template else reason + yaml_tree.hint_of(line)
        yield Entry(number, line.strip()[:200], "cronjob", refusal=why)


def _cron_job(node: Map) -> Entry:
    spec = yaml_tree.at(node, "spec")
    name = (
        text_at(node, "metadata", "name") or text_at(node, "metadata", "generateName") or "cronjob"
    )
    schedule = text_at(spec, "schedule")
    if not isinstance(spec, Map) or schedule is None:
        return _without_schedule(node, spec, name)
    zone = text_at(spec, "timeZone")
    entry = Entry(
        line=yaml_tree.line_of(spec, "schedule"),
        source=f"{name}: {schedule}",
        name=name,
        zone=zone,
        day_rule="or",
        payload=_payload(node, spec),
    )
    trigger, refusal = _trigger(schedule)
    reason = _templated(spec, name) or refusal or _bad_zone(spec)
    if reason:
        return entry.refused(reason)
    entry = replace(entry, trigger=trigger).warned(*_cautions(node, spec, trigger, zone))
    return _with_policies(entry, spec)


def _without_schedule(node: Map, spec: Node | None, name: str) -> Entry:
    if not isinstance(spec, Map):
        reason = "no spec; write spec.schedule"
        return Entry(yaml_tree.line_of(node, "kind"), "kind: CronJob", name, refusal=reason)
    reason = "no schedule; write spec.schedule"
    if yaml_tree.is_placeholder(yaml_tree.at(spec, "schedule")):
        reason = "template: the schedule is a placeholder; fill the template in first"
    return Entry(yaml_tree.line_of(spec, "schedule"), "kind: CronJob", name, refusal=reason)


def _templated(spec: Map, name: str) -> str:
    for what in ("schedule", "timeZone", "suspend", "startingDeadlineSeconds"):
        if yaml_tree.is_placeholder(yaml_tree.at(spec, what)):
            return f"template: {what} is a placeholder; fill the template in first"
        found = placeholders.in_schedule(text_at(spec, what) or "")
        if found:
            return f"template: {what} is the placeholder {found}; fill the template in first"
    found = placeholders.in_schedule(name)
    return f"template: the name holds the placeholder {found}; fill it in first" if found else ""


def _trigger(text: str) -> tuple[Trigger | None, str]:
    """What a schedule of the API means, and why the API or we refuse it."""
    if "TZ=" in text:
        return None, "the API refuses a zone inside schedule; write spec.timeZone"
    words = text.split()
    if words and words[0].startswith("@"):
        return _descriptor(words)
    if len(words) != 5:
        count = f"{len(words)} field{'s' * (len(words) != 1)}"
        return None, f"{count} instead of 5; write minute hour day-of-month month day-of-week"
    for word, name in zip(words, cron_text.FIVE_NAMES, strict=True):
        problem = _foreign(word, name)
        if problem:
            return None, problem
    trigger = CronTrigger(" ".join(cron_text.any_value(word) for word in words))
    return trigger, cron_text.problem_of(trigger)


def _descriptor(words: list[str]) -> tuple[Trigger | None, str]:
    if words[0] == "@every":
        span = go_duration(" ".join(words[1:]))
        # Go rounds an interval down to whole seconds, and up to one.
        span = None if span is None else max(span - span % _SECOND, _SECOND)
        if span is None or span > _LONGEST:
            return None, f"{' '.join(words)[:40]!r} is no interval; write one such as @every 1h30m"
        return Every(span), ""
    text = cron_text.macro(words[0]) if len(words) == 1 else None
    if text is None:
        return None, f"{' '.join(words)[:40]!r} is no macro; write one such as @daily"
    return CronTrigger(text), ""


def _foreign(word: str, name: str) -> str:
    """Why the API refuses a field that our own reader would take."""
    if re.search(r"[#~]|(?<![A-Za-z])[LlWw](?![A-Za-z])|\d[LlWw]", word):
        return f"Kubernetes does not read {word!r} as {name}; write the days"
    if name == "day-of-week" and re.search(r"(?<![/\d])7", word):
        return f"Kubernetes refuses 7 in {word!r}; write 0 for Sunday"
    return ""


def _bad_zone(spec: Map) -> str:
    zone = yaml_tree.at(spec, "timeZone")
    if isinstance(zone, Text) and not zone.plain and not zone.text.strip():
        return "the API refuses an empty timeZone; write one such as Europe/Berlin"
    if isinstance(zone, Text) and zone.text.lower() == "local":
        return "the API refuses the timeZone Local; write one such as Europe/Berlin"
    return ""


def _cautions(node: Map, spec: Map, trigger: Trigger | None, zone: str | None) -> Iterator[Caution]:
    if zone is None and isinstance(trigger, CronTrigger):
        message = "no timeZone: the zone of the controller is taken as UTC"
        yield Caution("zone-assumed", message)
    version = text_at(node, "apiVersion") or ""
    if version in _OLD:
        yield Caution("old-api-version", f"{version} is no longer served; write batch/v1")
    for key in spec.entries:
        if key not in _KNOWN:
            hint = "; write timeZone" if key.lower() == "timezone" else ""
            yield Caution("unknown-key", f"the API does not know {key!r} in spec{hint}")
    if text_at(spec, "suspend") == "true":
        yield Caution("suspended", "suspend: true, so it is carried as paused")
    if isinstance(trigger, Every):
        yield Caution("interval-phase", _PHASE)
    held = next(
        (found for text in yaml_tree.every_text(yaml_tree.at(spec, "jobTemplate"))
         if (found := placeholders.in_command(text.text))),
        "",
    )  # fmt: skip
    if held:
        message = f"the job holds the placeholder {held}; fill it in"
        yield Caution("template-in-command", message)


_PHASE = "the interval counts from the start of the controller there, from the epoch here"


def _with_policies(entry: Entry, spec: Map) -> Entry:
    seconds = text_at(spec, "startingDeadlineSeconds") or ""
    if seconds.isdecimal() and len(seconds) < 10 and timedelta(seconds=int(seconds)) <= _LONGEST:
        entry = replace(entry, deadline=timedelta(seconds=int(seconds)))
    elif seconds:
        message = f"startingDeadlineSeconds {seconds[:20]} is out of bounds and left out"
        entry = entry.warned(Caution("unknown-value", message))
    if text_at(spec, "suspend") == "true":
        entry = replace(entry, pause="suspended in Kubernetes (suspend: true)")
    overlap = _OVERLAPS.get(text_at(spec, "concurrencyPolicy") or "")
    return replace(entry, overlap=overlap) if overlap else entry


def _payload(node: Map, spec: Map) -> dict[str, Any]:
    """The command of the first container, and where it would run."""
    pod = yaml_tree.at(spec, "jobTemplate", "spec", "template", "spec")
    containers = yaml_tree.at(pod, "containers")
    first = containers.items[0] if isinstance(containers, Items) and containers.items else None
    words = [*yaml_tree.texts(yaml_tree.at(first, "command")),
             *yaml_tree.texts(yaml_tree.at(first, "args"))]  # fmt: skip
    found = {
        "command": shlex.join(words),
        "image": text_at(first, "image") or "",
        "namespace": text_at(node, "metadata", "namespace") or "",
    }
    return {key: value for key, value in found.items() if value}
