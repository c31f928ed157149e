"""Crontabs of users, of the system (cron.d) and of supercronic: their lines to entries."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cronledger.adapters.imports import commands, crontab_fields, placeholders
from cronledger.adapters.imports.model import Caution, Entry, Origin, Reading, Source

if TYPE_CHECKING:
    from cronledger.adapters.imports.crontab_fields import Timed

_SETTING = re.compile(
    r"""(?:"(?P<q>[^"]*)"|'(?P<a>[^']*)'|(?P<n>[A-Za-z_][\w.-]*))[ \t]*=[ \t]*(?P<value>.*)"""
)
_INLINE_ZONE = re.compile(r"['\"]?\S+?['\"]?[ \t]+(?:@\w+|(?:[\d*?,/A-Za-z~#-]+[ \t]+){4}\S+)")
_USER = re.compile(r"[A-Za-z_][\w.-]*\$?(?::[\w.-]+)?(?:/[\w-]+)?")
_FLAGS = re.compile(r"(?:-[nqs]+[ \t]+)+")
_NAMED = re.compile(r"#\s*Ansible:\s*(?P<name>.+)")
# What cron itself reads: no business of the command.
_OF_CRON = frozenset({"CRON_TZ", "MAILTO", "MAILFROM", "RANDOM_DELAY", "START_HOURS_RANGE"})


@dataclass(slots=True)
class _Table:
    """A table while it is read: the settings in force, and what was found so far."""

    origin: Origin
    environment: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    label: str = ""
    mails: bool = False
    entries: list[Entry] = field(default_factory=list)
    cautions: list[Caution] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        """One line, its number from 1."""
        label, self.label = self.label, ""
        if not line or line.startswith("#"):
            named = _NAMED.match(line)
            self.label = named["name"] if named else ""
        elif placeholders.is_control(line):
            message = f"the template line {line[:40]!r} is not run; what it governs is read as is"
            self.cautions.append(Caution("template-line", message, number))
        elif (setting := _SETTING.fullmatch(line)) is not None:
            self._set(number, line, setting)
        else:
            self.entries.append(self._entry(number, line, label))

    def _set(self, number: int, line: str, setting: re.Match[str]) -> None:
        name = next(part for part in (setting["q"], setting["a"], setting["n"]) if part is not None)
        value = setting["value"].strip()
        if name in {"CRON_TZ", "TZ"} and _INLINE_ZONE.match(value):
            reason = (
                f"inline-zone-prefix: in a crontab this whole line only sets {name}, and there is "
                f"no command; write {name}=... on a line of its own before the five fields"
            )
            self.entries.append(Entry(number, line, "inline-zone", refusal=reason))
            return
        value = _unquoted(value)
        if name == "CRON_TZ":
            self.zone = value.removeprefix(":") or None
        self.mails = self.mails or (name == "MAILTO" and bool(value))
        if name == "RANDOM_DELAY" and value not in {"", "0"}:
            message = f"RANDOM_DELAY delays each start by up to {value} min; times are the earliest"
            self.cautions.append(Caution("random-delay", message, number))
        self.environment[name] = value

    def _entry(self, number: int, line: str, label: str) -> Entry:
        supercronic = self.origin is Origin.SUPERCRONIC
        timed = crontab_fields.read_supercronic(line) if supercronic else crontab_fields.read(line)
        user, command, refusal = self._command_of(timed)
        cautions = list(timed.cautions)
        if not supercronic and (flags := _FLAGS.match(command)):
            message = f"the flags {flags[0].strip()} of OpenBSD's cron are left out"
            cautions.append(Caution("openbsd-flags", message))
            command = command[flags.end() :]
        entry = Entry(
            line=number,
            source=line,
            name=label or commands.name_of(_without_user(command)) or "crontab",
            trigger=timed.trigger,
            zone=self.zone,
            cautions=(*cautions, *self._zone_cautions()),
            refusal=refusal,
            day_rule="or" if supercronic else "vixie",
        )
        return entry if refusal else self._with_command(entry, command, user)

    def _command_of(self, timed: Timed) -> tuple[str, str, str]:
        """The user of a line, its command, and why it is refused."""
        if self.origin is not Origin.CRON_D:
            refusal = "" if timed.rest else "no command; write one after the fields"
            return "", timed.rest, timed.refusal or refusal
        user, _, command = timed.rest.partition(" ")
        if "\t" in user:
            user, _, command = timed.rest.partition("\t")
        refusal = timed.refusal
        if not refusal and not _USER.fullmatch(user):
            refusal = f"{user[:30]!r} is no user; a line of cron.d has a user before its command"
        if not refusal and not command.strip():
            refusal = f"no command after {user[:30]!r}; a line of cron.d has a user and a command"
        return user, command.lstrip(), refusal

    def _zone_cautions(self) -> list[Caution]:
        if self.environment.get("TZ") in {None, "", self.zone}:
            return []
        message = f"TZ={self.environment['TZ']} is only handed to the command; {_TZ_STAYS}"
        return [Caution("tz-env-only", message)]

    def _with_command(self, entry: Entry, command: str, user: str) -> Entry:
        payload: dict[str, Any] = {"command": command.strip()}
        cautions = list(commands.hints(command))
        if self.origin is not Origin.SUPERCRONIC:
            ran, given = commands.split_percent(command)
            payload["command"] = ran.strip()
            if given is not None:
                payload["stdin"] = given
                message = (
                    "an unescaped % ends the command; what follows is its input; escape it: \\%"
                )
                cautions.append(Caution("percent-newline", message))
        if self.origin is Origin.CRONTAB and (suspect := commands.names_user(command)):
            message = f"the command starts with {suspect!r}, which looks like a user; if this is a "
            cautions.append(Caution("user-column-suspected", f"{message}system table: cron.d"))
        if user:
            payload["user"] = user
        environment = {k: v for k, v in self.environment.items() if k not in _OF_CRON}
        if environment:
            payload["environment"] = environment
        return replace(entry, payload=payload).warned(*cautions)


_TZ_STAYS = "it does not move the schedule; write CRON_TZ, or timezone: in the schedule file"


def read_crontab(source: Source) -> Reading:
    """A user's crontab: five fields and a command."""
    return _read(source, Origin.CRONTAB)


def read_cron_d(source: Source) -> Reading:
    """A system table: five fields, a user and a command."""
    return _read(source, Origin.CRON_D)


def read_supercronic(source: Source) -> Reading:
    """A table of supercronic, whose last CRON_TZ governs the whole file."""
    return _read(source, Origin.SUPERCRONIC)


def _read(source: Source, origin: Origin) -> Reading:
    table = _Table(origin)
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        table.take(number, line.strip(" \t\f\v"))
    entries = table.entries
    if origin is Origin.SUPERCRONIC:
        entries = [_governed(entry, table.zone) for entry in entries]
    elif source.ends_open and entries and entries[-1].line == len(lines):
        message = "cron ignores a last line without a line end; end it with one"
        entries[-1] = entries[-1].warned(Caution("no-final-newline", message))
    return Reading(tuple(entries), (*table.cautions, *_about(table)))


def _governed(entry: Entry, last: str | None) -> Entry:
    if entry.zone == last:
        return entry
    message = f"supercronic uses the last CRON_TZ of the file, {last or 'the empty one'}, for all"
    return replace(entry, zone=last).warned(Caution("cron-tz-last-wins", message))


def _about(table: _Table) -> list[Caution]:
    """What is said once about the whole table."""
    found = []
    if table.mails:
        message = "MAILTO is not carried: cronledger sends no mail; alert on missing occurrences"
        found.append(Caution("mail-not-carried", message))
    if "CRON_TZ" in table.environment and table.origin is not Origin.SUPERCRONIC:
        message = "CRON_TZ is read as cronie reads it; the cron of Debian and Ubuntu ignores it"
        found.append(Caution("cron-tz-read", message))
    return found


def _without_user(command: str) -> str:
    return command.removeprefix(commands.names_user(command)).lstrip()


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
