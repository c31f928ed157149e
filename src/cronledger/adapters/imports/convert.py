"""A source of any origin to a schedule file, with what became of each of its entries."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from cronledger.adapters.imports import (
    airflow,
    celery,
    cron_text,
    crontab,
    dagster,
    github,
    kubernetes,
    systemd,
)
from cronledger.adapters.imports.model import (
    UTC,
    Caution,
    CronTrigger,
    Entry,
    Imported,
    Origin,
    Reading,
    Source,
    Zones,
)
from cronledger.adapters.imports.names import identified
from cronledger.adapters.imports.write import write
from cronledger.core.cron import parse
from cronledger.core.expand import never_fires
from cronledger.core.schedule import DayRule, Timing
from cronledger.errors import ConfigError, Problem

MAX_BYTES = 8 * 1024 * 1024
MAX_ENTRIES = 20_000
# As much of a payload as a job can hold, with room for its other keys.
_PAYLOAD_MAX = 60 * 1024
_BINARY = re.compile("[\0-\6\x0e-\x1a\x1c-\x1f]")

_READERS: Final[dict[Origin, Callable[[Source], Reading]]] = {
    Origin.CRONTAB: crontab.read_crontab,
    Origin.CRON_D: crontab.read_cron_d,
    Origin.SUPERCRONIC: crontab.read_supercronic,
    Origin.KUBERNETES: kubernetes.read,
    Origin.GITHUB: github.read,
    Origin.SYSTEMD: systemd.read,
    Origin.CELERY: celery.read,
    Origin.AIRFLOW: airflow.read,
    Origin.DAGSTER: dagster.read,
}
# What each origin does when the clocks change.
DST: Final[dict[Origin, str]] = {
    Origin.CRONTAB: "cron",
    Origin.CRON_D: "cron",
    Origin.SUPERCRONIC: "literal",
    Origin.KUBERNETES: "literal",
    Origin.GITHUB: "cron",
    Origin.SYSTEMD: "{gap: skip, fold: first, wildcard: same}",
    Origin.CELERY: "rfc5545",
    Origin.AIRFLOW: "airflow",
    Origin.DAGSTER: "dagster",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What an import is asked for. `timezone` is where entries without a zone run, None: unknown.

    `beside` gives the text of another file of the same folder.
    """

    origin: Origin
    path: str
    timezone: str | None = None
    beside: Callable[[str], str | None] = lambda _: None


def origin(name: str) -> Origin:
    """The origin of that name. Raises ConfigError with those there are."""
    try:
        return Origin(name)
    except ValueError:
        known = ", ".join(found.value for found in Origin)
        raise ConfigError(f"no importer for {name[:40]!r}; write one of {known}") from None


def convert(data: bytes, asked: Asked, zones: Zones) -> Imported:
    """The import of a source with these bytes. Raises ConfigError if it cannot be read at all."""
    if asked.timezone is not None:
        zones.load(asked.timezone)
    text = _decode(data, asked.path)
    name = re.sub(r"\.[A-Za-z]{1,10}$", "", re.split(r"[/\\]", asked.path)[-1]) or "imported"
    source = Source(text.replace("\r\n", "\n"), name, bool(text) and text[-1] != "\n", asked.beside)
    try:
        reading = _READERS[asked.origin](source)
    except RecursionError:
        raise _unreadable(asked.path, "is nested too deeply; split it") from None
    if len(reading.entries) > MAX_ENTRIES:
        raise _unreadable(asked.path, f"has more than {MAX_ENTRIES} entries; split it")
    entries = tuple(identified(_checked(entry, asked, zones) for entry in reading.entries))
    cautions = (*_about_text(text), *reading.cautions, *_about(asked, reading, entries))
    written = write(asked.origin.value, asked.path, DST[asked.origin], entries)
    if len(written.encode()) > MAX_BYTES:
        raise _unreadable(asked.path, f"makes more than {MAX_BYTES} bytes; split it")
    return Imported(asked.origin, asked.path, written, entries, cautions)


def _decode(data: bytes, path: str) -> str:
    if len(data) > MAX_BYTES:
        raise _unreadable(path, f"is larger than {MAX_BYTES} bytes; split it")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _unreadable(path, "is UTF-16; save it as UTF-8")
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8 text"
        raise ConfigError([Problem(message, "", path, line, 1)]) from None
    bad = _BINARY.search(text)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        message = f"control character U+{ord(bad[0]):04X} is not text; name a text file"
        raise ConfigError([Problem(message, "", path, line, 1)])
    return text


def _unreadable(path: str, message: str) -> ConfigError:
    return ConfigError([Problem(f"the source {message}", file=path)])


def _checked(entry: Entry, asked: Asked, zones: Zones) -> Entry:
    """The entry with a zone and with the traps of its cron; refused if our file cannot hold it."""
    size = len(json.dumps(entry.payload, ensure_ascii=False).encode("utf-8", "replace"))
    if size > _PAYLOAD_MAX:
        entry = entry.refused(f"its command and settings take {size} bytes; at most {_PAYLOAD_MAX}")
    trigger = entry.trigger
    if entry.refusal or not isinstance(trigger, CronTrigger):
        return entry if entry.refusal or trigger is not None else entry.refused("no time in it")
    problem = cron_text.problem_of(trigger) or _fires_never(trigger, entry.day_rule)
    if not problem and entry.zone is not None:
        try:
            zones.load(entry.zone)
        except ConfigError as error:
            problem = str(error)
    if problem:
        return entry.refused(problem)
    entry = entry.warned(*cron_text.hazards(trigger, entry.day_rule))
    if not cron_text.needs_day_rule(trigger):
        entry = replace(entry, day_rule="vixie")
    if asked.timezone is None or entry.zone is not None:
        return entry
    told = tuple(caution for caution in entry.cautions if caution.code != "zone-assumed")
    return replace(entry, zone=asked.timezone, cautions=told)


def _fires_never(trigger: CronTrigger, day_rule: str) -> str:
    timing = Timing(parse(trigger.text, trigger.layout), day_rule=DayRule(day_rule))
    return "no day fits it, so it never runs; change the day or the month" * never_fires(timing)


def _about_text(text: str) -> list[Caution]:
    if "\r\n" not in text:
        return []
    line = text.count("\n", 0, text.index("\r\n")) + 1
    return [Caution("crlf", "the lines end as on Windows; the CR at their ends is left out", line)]


def _about(asked: Asked, reading: Reading, entries: tuple[Entry, ...]) -> list[Caution]:
    """What is said once about the whole import."""
    if not entries:
        return [Caution("nothing-found", f"no {asked.origin} entry found; the file owes nothing")]
    assumed = [
        entry for entry in entries
        if not entry.refusal and entry.zone is None and isinstance(entry.trigger, CronTrigger)
    ]  # fmt: skip
    if assumed and reading.zone_matters and asked.timezone is None:
        message = f"no zone in the source: its zone is taken as {UTC}; give --timezone for another"
        return [Caution("zone-assumed", message)]
    return []
