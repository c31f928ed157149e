"""The time fields of one crontab line: where they end, and why cron would not take them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from cronledger.adapters.imports import cron_text, placeholders
from cronledger.adapters.imports.model import Caution, CronTrigger
from cronledger.core.cron import Layout

_FIELD = re.compile(r"(\S+)[ \t]+")
_LOOKS_TIMED = re.compile(
    r"(?:\?|(?=[^A-Za-z]*[\d*])[\d*,/-]+|(?:sun|mon|tue|wed|thu|fri|sat)(?:[-,#/][a-z0-9]+)*)",
    re.IGNORECASE,
)
_MARKS: Final = (
    (re.compile(r"\?"), "?"),
    (re.compile(r"#"), "#"),
    (re.compile(r"^(?:L|l)(?:-\d+)?$"), "L"),
    (re.compile(r"^(?:\d+|L|l)[Ww]$"), "W"),
    (re.compile(r"^(?:\d|[A-Za-z]{3})[Ll]$"), "L"),
    (re.compile(r"^H(?:$|[/(])"), "H"),
)
_RANDOM = re.compile(r"(\d*)~(\d*)(?:/(\d+))?")
_SPELLED_OUT: Final = {"@every_minute": "* * * * *"}
_BY_SECONDS = re.compile(r"@\d+")


@dataclass(frozen=True, slots=True)
class Timed:
    """The start of a line: its fields as written, and the rest of the line.

    `refusal` says why no schedule comes of it.
    """

    words: str
    rest: str
    trigger: CronTrigger | None = None
    cautions: tuple[Caution, ...] = ()
    refusal: str = ""


def read(line: str) -> Timed:
    """The fields of a line of a crontab, be it a user's or the system's."""
    if line.startswith("@") and not re.match(r"@[A-Za-z]\w*@", line):
        return _macro(line)
    # SUSE and cronie read a leading minus as: do not log it.
    words, rest = _split(re.sub(r"^-(?=[\d*])", "", line), 5)
    spelled = " ".join(words)
    placeholder = placeholders.in_schedule(spelled)
    if placeholder:
        return Timed(spelled, rest, refusal=_template(placeholder))
    if len(words) < 5:
        return Timed(spelled, rest, refusal=_too_few(words))
    marks = list(dict.fromkeys(mark for word in words for mark in _marks_in(word)))
    if marks:
        verb = "is" if len(marks) == 1 else "are"
        message = f"{' and '.join(marks)} {verb} not crontab syntax"
        instead = "; ".join(_INSTEAD[mark] for mark in marks)
        return Timed(spelled, rest, refusal=f"{message}; {instead}")
    settled = [
        _settled(word, name, line) for word, name in zip(words, cron_text.FIVE_NAMES, strict=True)
    ]
    trigger = CronTrigger(" ".join(settled))
    cautions = (_RANDOM_CAUTION,) if settled != words else ()
    refusal = cron_text.problem_of(trigger)
    sixth = rest.split(None, 1)[0] if rest else ""
    if _LOOKS_TIMED.fullmatch(sixth):
        message = f"six fields; a crontab has five, and cron would run the command '{rest[:30]}'"
        refusal = f"{message}; remove the field of the seconds or the year"
    return Timed(spelled, rest, trigger, cautions, refusal)


def read_supercronic(line: str) -> Timed:
    """The fields of a line of a supercronic table: seven, else six, else five, else a macro."""
    placeholder = placeholders.in_schedule(" ".join(line.split()[:5]))
    if placeholder:
        return Timed(line, "", refusal=_template(placeholder))
    if line.startswith("@"):
        found = _macro(line)
        if found.words.lower() in {"@midnight", "@every_minute"}:
            message = f"supercronic does not know {found.words}; write @daily or the fields"
            return Timed(found.words, found.rest, refusal=message)
        return found
    refusal = ""
    for count, layout in ((7, Layout.SEVEN), (6, Layout.YEAR), (5, Layout.FIVE)):
        words, rest = _split(line, count)
        if len(words) < count or not rest:
            refusal = refusal or _too_few(words)
            continue
        plain = [cron_text.any_value(word) for word in words]
        refusal = cron_text.problem_of(CronTrigger(" ".join(plain), layout))
        refusal = refusal or _not_cronexpr(plain, layout)
        if not refusal:
            return Timed(" ".join(words), rest, cron_text.trigger_of(plain, layout))
    words, rest = _split(line, 5)
    return Timed(" ".join(words), rest, refusal=refusal)


_INSTEAD: Final = {
    "?": "write * for any value",
    "L": "cron cannot say the last one; write L in the schedule file instead",
    "W": "cron cannot say the nearest weekday; write W in the schedule file instead",
    "#": "cron cannot count weekdays (and Quartz counts Sunday as 1); write it anew",
    "H": "that is Jenkins; write a fixed value",
}
_RANDOM_CAUTION = Caution(
    "random-minute",
    "~ is a random value drawn when the table is loaded; one fixed value, made from the line, "
    "stands in its place",
)


def _split(line: str, count: int) -> tuple[list[str], str]:
    """The first `count` words of a line, and what follows them as it stands."""
    words: list[str] = []
    position = 0
    while len(words) < count:
        match = _FIELD.match(line, position)
        if match is None:
            last = line[position:].strip()
            return ([*words, last] if last else words), ""
        words.append(match[1])
        position = match.end()
    return words, line[position:]


def _macro(line: str) -> Timed:
    word, rest = _split(line, 1)
    name = word[0]
    text = cron_text.macro(name) or _SPELLED_OUT.get(name.lower())
    if text is not None:
        return Timed(name, rest, CronTrigger(text))
    if name.lower() == "@reboot":
        message = "@reboot names no time, so nothing can be owed; start the work with its service"
        return Timed(name, rest, refusal=message)
    if name.lower() == "@every" or _BY_SECONDS.fullmatch(name):
        message = f"{name} is no crontab syntax; write every: with a duration"
        return Timed(name, rest, refusal=message)
    message = f"{name[:20]} is no macro of cron; write one such as @daily, or five fields"
    return Timed(name, rest, refusal=message)


def _template(placeholder: str) -> str:
    return f"template: the time is the placeholder {placeholder}; fill the template in first"


def _too_few(words: list[str]) -> str:
    count = len(words)
    return f"{count} field{'s' * (count != 1)} and no command; a line has five fields and a command"


def _marks_in(word: str) -> list[str]:
    return [mark for item in word.split(",") for pattern, mark in _MARKS if pattern.search(item)]


def _settled(word: str, name: str, line: str) -> str:
    """A field with each random item replaced by a value that the line itself decides."""
    if "~" not in word:
        return word
    low, high = cron_text.BOUNDS[name]
    items = []
    for item in word.split(","):
        match = _RANDOM.fullmatch(item)
        first, last = (int(match[1] or low), int(match[2] or high)) if match else (0, -1)
        if match is None or not low <= first <= last <= high:
            return word
        digest = hashlib.sha256(f"{name} {line}".encode("utf-8", "replace")).digest()
        step = int(match[3] or 0)
        drawn = first + int.from_bytes(digest[:4]) % (
            min(step, last - first + 1) or last - first + 1
        )
        items.append(f"{drawn}-{last}/{step}" if step else str(drawn))
    return ",".join(items)


def _not_cronexpr(words: list[str], layout: Layout) -> str:
    """Why supercronic refuses fields that our reader takes; "" if it takes them."""
    names = cron_text.NAMES[layout]
    for word, name in zip(words, names, strict=True):
        high = cron_text.BOUNDS.get(name, (1970, 2099))[1]
        for item in word.split(","):
            _, slash, step = item.partition("/")
            if slash and step.isdecimal() and int(step) > high:
                return f"supercronic refuses the step {item} of {name}; write one up to {high}"
            if name == "day-of-month" and re.fullmatch(r"[Ll]-\d+", item):
                return f"supercronic does not read {item}; write the days"
            if name == "day-of-week" and re.fullmatch(r"\d-7(/\d+)?", item):
                return f"supercronic refuses the range {item}, where 7 is 0; write a list"
    return ""
