"""GitHub workflow files: each cron under `on.schedule`, in its `timezone` or else in UTC."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from cronledger.adapters.imports import cron_text, placeholders, yaml_tree
from cronledger.adapters.imports.model import Caution, CronTrigger, Entry, Reading, Source
from cronledger.adapters.imports.yaml_tree import Document, Items, Map, Node, text_at
from cronledger.core.cron import Cron, parse

_CRON_LINE = re.compile(r"^\s*-?\s*[\"']?cron[\"']?\s*:(?P<value>.*)$")
_COMPARED = re.compile(
    r"github\.event\.schedule\s*[!=]=\s*'([^']*)'|'([^']*)'\s*[!=]=\s*github\.event\.schedule"
)
_SHORTEST = 5
_TEMPLATE = "template: the file is not YAML before its template is filled in; render it first"


def read(source: Source) -> Reading:
    """The schedules of a workflow."""
    entries: list[Entry] = []
    cautions: list[Caution] = []
    for document in yaml_tree.documents(source.text):
        if document.root is None:
            entries += _unreadable(document)
        else:
            entries += _workflow(document.root, source, cautions)
    return Reading(tuple(entries), tuple(cautions), zone_matters=False)


def _unreadable(document: Document) -> Iterator[Entry]:
    reason = f"{document.problem} at line {document.problem_line}"
    template = placeholders.is_template(re.sub(r"\$\{\{.*?\}\}", "", document.text))
    lines = enumerate(document.text.split("\n"), document.first_line)
    found = [(number, line) for number, line in lines if _CRON_LINE.match(line)]
    for number, line in found or [(document.problem_line, document.text.strip().split("\n")[0])]:
        why = _TEMPLATE if template else reason + yaml_tree.hint_of(line)
        yield Entry(number, line.strip()[:200], "workflow", refusal=why)


def _workflow(root: Node, source: Source, cautions: list[Caution]) -> Iterator[Entry]:
    name = text_at(root, "name") or source.name
    schedule = yaml_tree.at(root, "on", "schedule")
    if schedule is None:
        return
    if not isinstance(schedule, Items):
        reason = "on.schedule must be a list; write '- cron: ...'"
        yield Entry(schedule.line, "schedule:", name, refusal=reason)
        return
    steps = _steps(root)
    known = {text_at(item, "cron") for item in schedule.items}
    for text in sorted(_compared(steps) - {text for text in known if text}):
        message = f"a condition compares github.event.schedule with {text!r}, which no schedule is"
        cautions.append(Caution("condition-on-schedule-text", message))
    for item in schedule.items:
        yield _entry(item, name, steps)


def _entry(item: Node, name: str, steps: list[str]) -> Entry:
    text = text_at(item, "cron")
    if not isinstance(item, Map) or text is None:
        if yaml_tree.is_placeholder(yaml_tree.at(item, "cron")):
            return Entry(item.line, "schedule item", name, refusal=_TEMPLATE)
        return Entry(item.line, "schedule item", name, refusal="no cron; write '- cron: ...'")
    zone = text_at(item, "timezone")
    entry = Entry(
        line=yaml_tree.line_of(item, "cron"),
        source=f"cron: {text}",
        name=name,
        zone=zone,
        payload=_payload(name),
    )
    unknown = next((key for key in item.entries if key not in {"cron", "timezone"}), "")
    trigger, reason = _trigger(text)
    if unknown:
        hint = (
            "write timezone" if unknown.lower() in {"timezone", "tz", "time_zone"} else "remove it"
        )
        reason = f"GitHub refuses a workflow with the key {unknown!r} beside cron; {hint}"
    if (held := placeholders.in_schedule(f"{text} {zone or ''}")) and not unknown:
        reason = f"template: the placeholder {held} stands in the schedule; fill it in first"
    if reason or trigger is None:
        return entry.refused(reason)
    return _carried(entry, trigger, text, steps)


def _carried(entry: Entry, trigger: CronTrigger, text: str, steps: list[str]) -> Entry:
    cautions = []
    if _shortest_gap(parse(trigger.text)) < _SHORTEST:
        message = f"GitHub runs a schedule at most every {_SHORTEST} minutes; this asks for more"
        cautions.append(Caution("too-frequent", message))
    if any(text in step for step in steps):
        message = "a step compares github.event.schedule with this text; a rewritten one breaks it"
        cautions.append(Caution("condition-on-schedule-text", message))
    return Entry(
        entry.line, entry.source, entry.name, trigger, entry.zone,
        payload=entry.payload, cautions=tuple(cautions),
    )  # fmt: skip


def _trigger(text: str) -> tuple[CronTrigger | None, str]:
    words = text.split()
    if words and words[0].startswith("@"):
        return None, f"GitHub does not read {words[0][:20]}; write five fields"
    if len(words) != 5:
        count = f"{len(words)} field{'s' * (len(words) != 1)}"
        return None, f"{count} instead of 5; write minute hour day-of-month month day-of-week"
    foreign = next((word for word in words if re.search(r"[?#~]|\d[LW]|^[LW]", word)), "")
    if foreign:
        return None, f"GitHub does not read {foreign!r}; write POSIX cron"
    trigger = CronTrigger(" ".join(words))
    problem = cron_text.problem_of(trigger)
    return (None, problem) if problem else (trigger, "")


def _shortest_gap(cron: Cron) -> int:
    """The fewest minutes between two runs, by the minute and hour fields."""
    minutes = cron.minutes
    gaps = [after - before for before, after in pairwise(minutes)]
    hours = set(cron.hours)
    if any((hour + 1) % 24 in hours for hour in hours):
        gaps.append(60 - minutes[-1] + minutes[0])
    return min(gaps, default=60)


def _steps(root: Node) -> list[str]:
    """The texts of the jobs, if any of them looks at the text of the schedule."""
    found = [text.text for text in yaml_tree.every_text(yaml_tree.at(root, "jobs"))]
    return found if any("github.event.schedule" in text for text in found) else []


def _compared(steps: list[str]) -> set[str]:
    """The texts that conditions compare the schedule with."""
    matches = (match for text in steps for match in _COMPARED.finditer(text))
    return {match[1] or match[2] for match in matches}


def _payload(name: str) -> dict[str, Any]:
    return {"workflow": name}
