"""What the text of a command tells: its name, its input, and that it does less than it seems to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cronledger.adapters.imports import placeholders
from cronledger.adapters.imports.model import Caution

if TYPE_CHECKING:
    from collections.abc import Iterator

_DATE = r"(?:\$\(|`)\s*(?:[\w/]*/)?(?:g?date|cal)\b"
_COMPARE = r"(?:\s-(?:eq|ne|lt|le|gt|ge)\s|=|<|>|\s-[nz]\s)"
_GUARDS: Final = tuple(
    re.compile(form)
    for form in (
        rf"\[\[?\s(?=[^\]]*{_DATE})(?=[^\]]*{_COMPARE})",
        rf"\btest\s(?=[^;&|]*{_DATE})(?=[^;&|]*{_COMPARE})",
        rf"\bexpr\s+[^;&|]*{_DATE}[^;&|]*(?:&&|\|\|)",
        rf"\(\([^;&|]*{_DATE}.*?\)\)\s*(?:&&|\|\|)",
        rf"\bcase\s+[\"']?{_DATE}",
        r"(?:^|[;&|(]\s*)(?:[\w/]*/)?date\b[^;&|]*\|\s*[ef]?grep\b",
        r"(?:^|[;&|(]\s*)(?:[\w/]*/)?date\b[^;&|]*\|\s*cut\b",
    )
)
# Accounts that a system has and that are no programs.
_USERS: Final = frozenset(
    [
        "root",
        "nobody",
        "www-data",
        "daemon",
        "ubuntu",
        "debian",
        "ec2-user",
        "centos",
        "vagrant",
        "deploy",
        "nagios",
        "zabbix",
        "backup",
        "asterisk",
        "mailman",
        "munin",
        "logcheck",
        "smmsp",
        "amavis",
        "clamav",
        "debian-tor",
        "postgres",
        "oracle",
        "tomcat",
        "jenkins",
        "apache",
        "odoo",
        "www-user",
        "webapp",
    ]
)
_PROGRAM = re.compile(r"(?:/|\./|~/|\[$|test$|cd$|if$|sh$|bash$|php\d*$|python[\d.]*$|perl$|\.$)")
_SETTING = re.compile(r"[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+")
_LEAD: Final = tuple(
    re.compile(form)
    for form in (
        r"(?:\(|\{|(?:if|then)\s)\s*",
        r"(?:command|exec)\s+(?=[\w/.])",
        r"command\s+-v\s[^;&|]*(?:&&|;|\|\|)\s*",
        r"(?:cd|pushd|source|\.|mkdir(?:\s+-p)?|sleep|export|umask|exec)\s[^;&|]*(?:&&|;)\s*",
        r"(?:\[|test)\s[^;&|]*(?:&&|;|\|\|)\s*",
        r"(?:\S*/)?(?:sudo|chronic|nohup|env|time|nice|ionice|setsid|flock|timeout|"
        r"run-one|cronic|chroot|su|doas|xvfb-run)\s+"
        r"(?:-(?:[ugncpweE]|c\d|n\d+)\s*[\w.:-]+\s+(?=\S)|--?[\w=-]+\s+|\d+[smhd]?\s+|"
        r"\S+\.lock(?:file)?\s+|/\S*lock\S*\s+)*",
        r"(?:\S*/)?(?:bash|sh|zsh|dash|ksh|python[\d.]*|php[\d.]*|node|ruby|perl|poetry run|"
        r"bundle exec|npx|uv run|pipenv run)\s+(?:-[lcmuxefq]+\s+)*(?=\S)",
    )
)
# File names that tell less than the folder they stand in.
_UNTELLING: Final = frozenset({"init", "main", "run", "index", "cron", "app", "job", "script"})
_PERCENT_MARKS = re.compile(r"<%.*%>|\{%.*%\}")
_LEAD_MAX = 12
# Nobody tests the date further into a command.
_SEEN_MAX = 4000


def split_percent(text: str) -> tuple[str, str | None]:
    """The command that cron runs, and what it gives it as input, None for nothing.

    An unescaped percent sign ends the command; each further one begins a new line of the input.
    """
    # The marks of a template are gone when cron reads the line.
    parts = [text] if _PERCENT_MARKS.search(text) else re.split(r"(?<!\\)%", text)
    plain = [part.replace("\\%", "%") for part in parts]
    if len(plain) == 1:
        return plain[0], None
    return plain[0], "\n".join(plain[1:]) + "\n"


def hints(command: str) -> Iterator[Caution]:
    """What a reader of the command should know."""
    command = command[:_SEEN_MAX]
    placeholder = placeholders.in_command(command)
    if placeholder:
        message = f"the command holds the placeholder {placeholder}; fill it in"
        yield Caution("template-in-command", message)
    if any(guard.search(command) for guard in _GUARDS):
        message = "the command tests the date itself, so it does less than the schedule says"
        yield Caution("guard-in-command", message)


def names_user(command: str) -> str:
    """The first word of a command if it looks like a user column; "" if not."""
    words = command.split(None, 2)
    if len(words) < 2 or words[0] not in _USERS:
        return ""
    if words[0] in {"root", "nobody", "www-data", "daemon"} or _PROGRAM.match(words[1]):
        return words[0]
    return ""


def name_of(command: str) -> str:
    """What people would call the command: its program and its first word, without what leads up."""
    rest = re.sub(r"\{\{.*?\}\}|<%.*?%>|\s#\s.*", " ", command[:500]).strip().strip("\"'").strip()
    for _ in range(_LEAD_MAX):
        before = rest
        rest = _SETTING.sub("", rest, count=1) if _SETTING.match(rest) else rest
        for lead in _LEAD:
            match = lead.match(rest)
            if match is not None and match.end() < len(rest):
                rest = rest[match.end() :].strip().lstrip("\"'")
        if rest == before:
            break
    words = [word.strip("\"'()`;") for word in rest.split()[:8]]
    return " ".join(_telling(words))


def _telling(words: list[str]) -> Iterator[str]:
    """The program without its folder and suffix, and the first plain word after it."""
    if not words:
        return
    folder, _, program = words[0].rstrip("/").rpartition("/")
    stem = re.sub(r"\.(?:sh|py|php|pl|rb|js|mjs|bash)$", "", program)
    if stem.strip("_") in _UNTELLING and folder.strip("./~"):
        yield folder.rsplit("/", 1)[-1]
    yield stem
    for word in words[1:]:
        if re.match(r"(?:\d?>|[|;&<])", word):
            return
        if re.fullmatch(r"[A-Za-z][\w:.-]{1,30}", word):
            yield word
            return
