"""A schedule file from its bytes: all schedules and queues, or every problem at once."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cronledger.adapters.config.build import build_schedules
from cronledger.adapters.config.calendars import build_calendar, check_calendar_name
from cronledger.adapters.config.findings import Findings, Place, subject
from cronledger.adapters.config.models import FileModel
from cronledger.adapters.config.nodes import MapNode, Node, RefusedNode, TextNode, find, kind_of
from cronledger.adapters.config.part import Part
from cronledger.adapters.config.places import Places
from cronledger.adapters.config.queues import build_queue, build_retention
from cronledger.adapters.config.reader import read
from cronledger.adapters.config.source import decode, read_bytes
from cronledger.adapters.config.timings import build_defaults
from cronledger.adapters.config.zonebook import ZoneBook, Zones
from cronledger.core.instants import format_duration
from cronledger.core.parameters import declared
from cronledger.core.schedule import (
    ANY_RETRIES,
    KEPT,
    QueueSpec,
    Retention,
    RetryBudget,
    Schedule,
    ScheduleFile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cronledger.core.calendars import Calendar

__all__ = ["VERSION", "Zones", "load", "load_placed", "parse", "parse_placed", "sample"]

VERSION = "1"

_TOP = Place(1, 1)
_TZDATA = re.compile(r"(>=)?\s*([0-9]{4}[a-z]{1,2})")
_START = "start with 'version: 1' and 'schedules:', or see 'cronledger init'"


def load(path: Path, zones: Zones) -> ScheduleFile:
    """The schedule file at `path`. Raises ConfigError with every problem found, in file order."""
    return parse(read_bytes(path), str(path), zones)


def load_placed(path: Path, zones: Zones) -> tuple[ScheduleFile, Places]:
    """As `load`, with where everything stands."""
    return parse_placed(read_bytes(path), str(path), zones)


def parse(data: bytes, path: str, zones: Zones) -> ScheduleFile:
    """The schedule file with these bytes; `path` is only what problems and the result name."""
    return parse_placed(data, path, zones)[0]


def parse_placed(data: bytes, path: str, zones: Zones) -> tuple[ScheduleFile, Places]:
    """As `parse`, with where everything stands."""
    findings = Findings(path)
    root = read(decode(data, findings), findings)
    if root is None or (isinstance(root, TextNode) and not root.text):
        findings.add(_TOP, f"the file is empty; {_START}")
        raise findings.error()
    if not isinstance(root, MapNode):
        if not isinstance(root, RefusedNode):
            findings.add(root.place, f"expected a mapping, got {kind_of(root)}; {_START}")
        raise findings.error()
    _check_version(root, findings)
    _check_tzdata(root, findings, zones.version)
    schedules, queues, budget = _build(root, findings, ZoneBook(zones))
    kept = _retention(root, findings)
    _check_reach(root, schedules, kept, findings)
    if findings.problems:
        raise findings.error()
    file = ScheduleFile(path, hashlib.sha256(data).hexdigest(), schedules, queues, budget, kept)
    return file, Places(root)


def sample() -> str:
    """The commented schedule file that `cronledger init` writes."""
    return Path(__file__).with_name("sample.yaml").read_text(encoding="utf-8")


def _check_version(root: MapNode, findings: Findings) -> None:
    """Refuses another version at once: the rest of such a file is in another language."""
    entry = root.entries.get("version")
    if entry is None:
        findings.add(_TOP, f"missing key 'version'; write 'version: {VERSION}' as the first line")
    elif isinstance(entry.value, TextNode) and entry.value.text == VERSION:
        return
    elif not isinstance(entry.value, RefusedNode):
        given = kind_of(entry.value)
        message = f"version: this program reads version {VERSION}, got {given}"
        findings.add(entry.value.place, f"{message}; write 'version: {VERSION}'")
        raise findings.error()


def _check_tzdata(root: MapNode, findings: Findings, ours: str) -> None:
    """Refuses zone data other than the file asks for: keys would stand elsewhere."""
    entry = root.entries.get("tzdata")
    if entry is None or isinstance(entry.value, RefusedNode):
        return
    asked = _TZDATA.fullmatch(entry.value.text) if isinstance(entry.value, TextNode) else None
    if asked is None:
        message = f"tzdata: expected a version such as {ours}, or >={ours}"
        findings.add(entry.value.place, f"{message}; got {kind_of(entry.value)}")
    elif ours < asked[2] if asked[1] else ours != asked[2]:
        message = f"tzdata: this program has zone data {ours}, the file asks for {asked[0]}"
        findings.add(entry.value.place, f"{message}; install that tzdata, or change the line")


def _check_aliases(root: MapNode, schedules: Mapping[str, Schedule], findings: Findings) -> None:
    """An earlier id is nobody's now, and one schedule's only."""
    seen: dict[str, str] = {}
    for schedule in schedules.values():
        name = declared(schedule.id)
        for index, alias in enumerate(schedule.aliases):
            owner = alias if alias in schedules else seen.setdefault(alias, name)
            if owner == name and alias not in schedules:
                continue
            place = find(root, ["schedules", name, "aliases", index]).value.place
            message = f"aliases: {alias!r} belongs to {owner!r}; an earlier id belongs to one"
            findings.add(place, f"{message} schedule: remove it here", subject(name))


def _build(
    root: MapNode, findings: Findings, zones: ZoneBook
) -> tuple[dict[str, Schedule], dict[str, QueueSpec], RetryBudget]:
    model = Part("", _TOP, root, findings).shape(FileModel)
    mode = model.budget_mode or ANY_RETRIES.mode
    calendars: dict[str, Calendar | None] = {}
    for name, part in _parts(root, "calendars", findings):
        check_calendar_name(part, name)
        calendars[name] = build_calendar(part)
    defaults = build_defaults(_defaults_part(root, findings), zones, calendars)
    queues = {name: build_queue(part, name) for name, part in _parts(root, "queues", findings)}
    schedules: dict[str, Schedule] = {}
    for name, part in _parts(root, "schedules", findings):
        for schedule in build_schedules(part, name, defaults):
            schedules[schedule.id] = schedule
            queues.setdefault(schedule.job.queue, QueueSpec(schedule.job.queue))
    _check_aliases(root, schedules, findings)
    if "schedules" not in root.entries:
        findings.add(_TOP, "missing key 'schedules'; write it, with {} if nothing is owed")
    return schedules, queues, RetryBudget(model.retry_budget, mode)


def _defaults_part(root: MapNode, findings: Findings) -> Part | None:
    node = _section(root, "defaults", findings)
    return None if node is None else Part("", node.place, node, findings)


def _retention(root: MapNode, findings: Findings) -> Retention:
    node = _section(root, "retention", findings)
    return KEPT if node is None else build_retention(Part("", node.place, node, findings))


def _check_reach(
    root: MapNode, schedules: Mapping[str, Schedule], kept: Retention, findings: Findings
) -> None:
    """What a tick may still catch up on is not forgotten."""
    for schedule in schedules.values():
        if kept.occurrences is not None and schedule.catchup.window >= kept.occurrences:
            place = find(root, ["retention", "occurrences"]).value.place
            window = format_duration(schedule.catchup.window)
            message = (
                f"occurrences: not longer than the catch-up window of {schedule.id} ({window})"
            )
            findings.add(place, f"{message}; write a longer one, or a shorter window")
            return


def _parts(root: MapNode, section: str, findings: Findings) -> Iterator[tuple[str, Part]]:
    """The named parts of a section, in file order."""
    node = _section(root, section, findings)
    entries = {} if node is None else node.entries
    for name, entry in entries.items():
        value: Node = entry.value
        if isinstance(value, MapNode):
            yield name, Part(subject(name), entry.key_place, value, findings)
        elif not isinstance(value, RefusedNode):
            message = f"expected a mapping, got {kind_of(value)}; write {{key: value}}"
            findings.add(value.place, message, subject(name))


def _section(root: MapNode, key: str, findings: Findings) -> MapNode | None:
    entry = root.entries.get(key)
    if entry is None or isinstance(entry.value, RefusedNode):
        return None
    if isinstance(entry.value, MapNode):
        return entry.value
    message = f"{key}: expected a mapping, got {kind_of(entry.value)}; write {{}} or remove the key"
    findings.add(entry.value.place, message)
    return None
