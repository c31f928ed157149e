"""The schedule file that an import writes: one schedule for each entry that is carried."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from cronledger.adapters.imports.model import UTC, CronTrigger, Entry, Every
from cronledger.core.cron import Layout
from cronledger.core.instants import format_duration

COMMENT_MAX = 160
# Before anything was owed by this file.
_LONG_AGO: Final = "1971-01-01T00:00:00Z"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
# Words that YAML readers take for something else than text.
_NOT_TEXT: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def write(origin: str, path: str, dst: str, entries: Sequence[Entry]) -> str:
    """The file as text. `dst` is what its schedules share."""
    carried = [entry for entry in entries if not entry.refusal]
    lines = [f"# Imported from {_comment(path)} ({origin}).", "version: 1"]
    lines += ["defaults:", f"  dst: {dst}"] if carried else []
    lines += ["schedules:" if carried else "schedules: {}"]
    for entry in carried:
        lines += ["", *_schedule(entry)]
    return "\n".join(lines) + "\n"


def _schedule(entry: Entry) -> Iterator[str]:
    yield f"  # line {entry.line}: {_comment(entry.source)}"
    for caution in entry.cautions:
        yield f"  # warning {caution.code}: {_comment(caution.message)}"
    for note in entry.notes:
        yield f"  # {_comment(note)}"
    yield f"  {_word(entry.id)}:"
    yield from (f"    {line}" for line in _trigger(entry))
    if entry.day_rule != "vixie":
        yield f"    day_rule: {entry.day_rule}"
    if entry.deadline is not None:
        yield f"    deadline: {format_duration(entry.deadline)}"
    if entry.overlap:
        yield f"    overlap: {entry.overlap}"
    if entry.catchup:
        yield f"    catchup: {{policy: {entry.catchup}}}"
    if entry.pause:
        yield "    pause:"
        yield f"      - {{from: {_LONG_AGO}, reason: {quoted(entry.pause)}}}"
    yield "    job:"
    yield f"      kind: {_word(kind_of(entry))}"
    if entry.payload:
        yield "      payload:"
        yield from (f"        {line}" for line in _mapping(entry.payload))


def kind_of(entry: Entry) -> str:
    """What names the handler, as the file can hold it; `work --exec` runs what is a command."""
    kind = entry.kind or ("exec" if "command" in (entry.payload or {}) else entry.id)
    return kind if kind.isprintable() and len(kind) <= 200 else entry.id


def _trigger(entry: Entry) -> Iterator[str]:
    match entry.trigger:
        case Every(span):
            yield f"every: {elapsed_text(span)}"
        case CronTrigger(text, Layout.FIVE):
            yield f"cron: {quoted(text)}"
            yield f"timezone: {_word(entry.zone or UTC)}"
        case CronTrigger(text, layout):
            yield f"cron: {{expr: {quoted(text)}, fields: {quoted(layout.value)}}}"
            yield f"timezone: {_word(entry.zone or UTC)}"
        case None:
            raise AssertionError("a carried entry has a trigger")


def elapsed_text(span: timedelta) -> str:
    """A span that elapses: hours at the most, since days are of the calendar."""
    seconds = span // timedelta(seconds=1)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = ((hours, "H"), (minutes, "M"), (seconds, "S"))
    return "PT" + "".join(f"{number}{unit}" for number, unit in parts if number)


def _mapping(payload: Any) -> Iterator[str]:
    for key, value in payload.items():
        if isinstance(value, dict) and value:
            yield f"{_word(key)}:"
            yield from (f"  {line}" for line in _mapping(value))
        else:
            yield f"{_word(key)}: {_flow(value)}"


def _flow(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{quoted(k)}: {_flow(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(_flow(item) for item in value) + "]"
        case str():
            return quoted(value)
        case _:
            return json.dumps(value)


def _word(text: str) -> str:
    """Text without quotes where no reader of YAML could take it for something else."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT
    return text if plain else quoted(text)


def quoted(text: str) -> str:
    """Text between double quotes, as YAML reads it back character for character."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    number = ord(character)
    wide = f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
    return named or (wide if number < 0x10000 else f"\\U{number:08x}")


def _comment(text: str) -> str:
    """Text that can stand in a comment, cut if it is long."""
    line = "".join(c if c.isprintable() else " " for c in text[: COMMENT_MAX * 4])
    line = " ".join(line.split())
    return line if len(line) <= COMMENT_MAX else line[: COMMENT_MAX - 1] + "…"
