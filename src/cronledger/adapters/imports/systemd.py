"""systemd timer units: each OnCalendar to a cron; what counts from boot or from a start is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from cronledger.adapters.imports import calendar, placeholders
from cronledger.adapters.imports.durations import systemd_span
from cronledger.adapters.imports.model import Caution, Entry, Reading, Source

_MONOTONIC: Final = {
    "OnActiveSec": "the moment the timer was started",
    "OnBootSec": "boot",
    "OnStartupSec": "the start of the service manager",
    "OnUnitActiveSec": "the last start of the unit",
    "OnUnitInactiveSec": "the last end of the unit",
}
_TRUE: Final = frozenset({"1", "yes", "y", "true", "t", "on"})
_EVENTS: Final = ("OnClockChange", "OnTimezoneChange")
_SECTION = re.compile(r"\[([^\]]+)\]\s*")
_SETTING = re.compile(r"([A-Za-z0-9_-]+)[ \t]*=[ \t]*(.*)")
_COMMENT_AFTER = re.compile(r"\s[#;]")
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _Line:
    """One setting of a unit; `number` is the line where it begins."""

    number: int
    section: str
    key: str
    value: str


@dataclass(slots=True)
class _Timer:
    """What the [Timer] section says."""

    entries: list[Entry] = field(default_factory=list)
    cautions: list[Caution] = field(default_factory=list)
    each: list[Caution] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def take(self, line: _Line) -> None:
        starts = line.key == "OnCalendar" or line.key in _MONOTONIC
        if starts and not line.value:
            self._reset(line)
        elif line.key == "OnCalendar":
            self.entries.append(_calendar_entry(line))
        elif line.key in _MONOTONIC:
            self.entries.append(_monotonic_entry(line))
        elif line.key in _EVENTS:
            if line.value.lower() in _TRUE:
                reason = "starts on an event, not at a time; nothing can be owed at it"
                self.entries.append(_entry(line).refused(reason))
        else:
            self._setting(line)

    def _setting(self, line: _Line) -> None:
        if _COMMENT_AFTER.search(line.value) and line.key != "Unit":
            message = f"systemd has no comments after a value, so it ignores this {line.key}"
            self.cautions.append(Caution("ignored-setting", message, line.number))
            return
        self.settings[line.key] = line.value
        span = systemd_span(line.value)
        if line.key == "AccuracySec" and (span is None or span > _MINUTE):
            message = f"AccuracySec={line.value} lets the start slide by more than a minute"
            self.each.append(Caution("accuracy", message, line.number))
        if line.key in {"RandomizedDelaySec", "RandomizedOffsetSec"} and span != timedelta(0):
            message = f"{line.key}={line.value}: the times here are the earliest moments"
            self.each.append(Caution("random-delay", message, line.number))

    def _reset(self, line: _Line) -> None:
        """An empty value takes back every start given before it."""
        for entry in self.entries:
            message = f"{entry.source} (line {entry.line}) is taken back by the empty {line.key}="
            self.cautions.append(Caution("overridden", message, line.number))
        self.entries.clear()


def read(source: Source) -> Reading:
    """The starts of a timer unit, several of which add up."""
    timer = _Timer()
    unit = ""
    for line in _lines(source.text):
        if line.section == "Timer":
            timer.take(line)
        elif line.section == "Unit" and line.key == "Description":
            unit = line.value
    payload, about = _work(source, timer)
    catches = timer.settings.get("Persistent", "").lower() in _TRUE
    shared = {**payload, **({"description": unit[:500]} if unit else {})}
    entries = [
        replace(entry, name=source.name, payload=shared, catchup="latest" if catches else "none")
        for entry in timer.entries
    ]
    seen = [replace(caution, line=0) for caution in timer.each]
    entries = [entry if entry.refusal else entry.warned(*seen) for entry in entries]
    carried = any(not entry.refusal for entry in entries)
    return Reading(tuple(entries), (*timer.cautions, *(about if carried else ())))


def _lines(text: str) -> Iterator[_Line]:
    section = ""
    begun: list[str] = []
    number = 0
    for index, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not begun:
            number = index
        if line.startswith(("#", ";")) or (not line and not begun):
            continue
        begun.append(line.removesuffix("\\").strip())
        if line.endswith("\\"):
            continue
        whole, begun = " ".join(begun), []
        heading, setting = _SECTION.fullmatch(whole), _SETTING.fullmatch(whole)
        if heading is not None:
            section = heading[1]
        elif setting is not None:
            yield _Line(number, section, setting[1], setting[2].strip())


def _entry(line: _Line) -> Entry:
    return Entry(line.number, f"{line.key}={line.value}", "timer", day_rule="and")


def _monotonic_entry(line: _Line) -> Entry:
    since = _MONOTONIC[line.key]
    hint = "" if line.key.startswith(("OnBoot", "OnStart", "OnActive")) else ", or every:"
    return _entry(line).refused(f"relative to {since}, not a time of the clock; write a cron{hint}")


def _calendar_entry(line: _Line) -> Entry:
    entry = _entry(line)
    held = placeholders.in_schedule(line.value)
    if held or "%" in line.value:
        found = held or "%" + line.value.partition("%")[2][:1]
        return entry.refused(f"template: the placeholder {found} stands in OnCalendar; fill it in")
    if _COMMENT_AFTER.search(line.value):
        message = "comment after the value: systemd reads it as part of the expression, and refuses"
        return entry.refused(f"{message}; write the comment on its own line")
    try:
        found_calendar = calendar.read(line.value)
    except calendar.CalendarError as error:
        return entry.refused(f"not a calendar expression that a cron can say: {error}")
    return replace(entry, trigger=found_calendar.trigger, zone=found_calendar.zone)


def _work(source: Source, timer: _Timer) -> tuple[dict[str, Any], list[Caution]]:
    """The unit that a timer starts, with its command if the unit lies beside it."""
    unit = timer.settings.get("Unit") or f"{source.name}.service"
    cautions = []
    text = source.beside(unit)
    command = "" if text is None else _exec_start(text)
    if not command:
        message = f"a timer names a unit, not a command, and {unit} is not beside it"
        cautions.append(Caution("no-command", message))
    if "@." in unit or source.name.endswith("@"):
        message = f"{unit} is a template; its instances are not known here"
        cautions.append(Caution("template-unit", message))
    return {"unit": unit} | ({"command": command} if command else {}), cautions


def _exec_start(text: str) -> str:
    commands = [
        line.value.lstrip("-@:+!")
        for line in _lines(text)
        if line.section == "Service" and line.key == "ExecStart" and line.value
    ]
    return " && ".join(commands)
