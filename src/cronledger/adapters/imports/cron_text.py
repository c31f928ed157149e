"""Cron texts of other schedulers: how they are respelled for ours, and which traps they hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cronledger.adapters.imports.model import Caution, CronTrigger
from cronledger.core.cron import Cron, CronError, Layout, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

MACROS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The fields of a cron, with their lowest and highest value.
BOUNDS: Final = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day-of-month": (1, 31),
    "month": (1, 12),
    "day-of-week": (0, 6),
}
FIVE_NAMES: Final = ("minute", "hour", "day-of-month", "month", "day-of-week")
NAMES: Final = {
    Layout.FIVE: FIVE_NAMES,
    Layout.SECONDS: ("second", *FIVE_NAMES),
    Layout.YEAR: (*FIVE_NAMES, "year"),
    Layout.SEVEN: ("second", *FIVE_NAMES, "year"),
}
_STEP = re.compile(r"(?:\*|(\d+)(?:-(\d+))?)/(\d+)")
_WRAP = re.compile(r"([0-9a-z]+)-([0-9a-z]+)(?:/(\d+))?")


def macro(word: str) -> str | None:
    """The five fields that a macro stands for; None for any other word."""
    return MACROS.get(word.lower())


def trigger_of(fields: list[str], layout: Layout = Layout.FIVE) -> CronTrigger:
    """The trigger with these fields, in the shortest layout that says the same."""
    if layout in {Layout.YEAR, Layout.SEVEN} and fields[-1] in {"*", "?"}:
        fields, layout = fields[:-1], Layout.FIVE if layout is Layout.YEAR else Layout.SECONDS
    if layout in {Layout.SECONDS, Layout.SEVEN} and fields[0].strip("0") == "" and fields[0]:
        fields, layout = fields[1:], Layout.FIVE if layout is Layout.SECONDS else Layout.YEAR
    return CronTrigger(" ".join(fields), layout)


def problem_of(trigger: CronTrigger) -> str:
    """Why our own reader refuses the text; "" if it reads it."""
    try:
        parse(trigger.text, trigger.layout)
    except CronError as error:
        return error.message
    return ""


def any_value(field: str) -> str:
    """`?` and a step of one as the `*` that they stand for."""
    return "*" if field in {"?", "*/1"} else field


def hazards(trigger: CronTrigger, day_rule: str) -> Iterator[Caution]:
    """What people often take such a text to mean, and it does not. The text can be read."""
    named = dict(zip(NAMES[trigger.layout], trigger.text.split(), strict=True))
    for name, (low, high) in BOUNDS.items():
        for item in named.get(name, "").split(","):
            match = _STEP.fullmatch(item)
            if match is not None:
                yield from _of_step(name, match, low, high)
    cron = parse(trigger.text, trigger.layout)
    if _both_days(cron) and day_rule == "and":
        yield Caution("and-days", "both the day of month and the weekday must match, unlike cron")
    elif _unites(cron, day_rule):
        message = "day of month and weekday are both set: it runs when either of them matches"
        yield Caution("or-days", message)


def _of_step(name: str, match: re.Match[str], low: int, high: int) -> Iterator[Caution]:
    size, step = high - low + 1, int(match[3])
    first = int(match[1] or low)
    last = int(match[2] or high)
    if step > 1 and first + step > last:
        message = f"the step {match[0]} of {name} is larger than its range: only {first} is left"
        yield Caution("step-too-large", message)
    elif step > 1 and size % step and last >= high and first - low < step:
        message = f"{match[0]} does not divide the {size} values of {name}: one interval is shorter"
        yield Caution("uneven-step", message)


def needs_day_rule(trigger: CronTrigger) -> bool:
    """Whether both day fields are given, so that it matters how they combine."""
    return _both_days(parse(trigger.text, trigger.layout))


def _both_days(cron: Cron) -> bool:
    return not (cron.day_bare or cron.weekday_bare)


def _unites(cron: Cron, day_rule: str) -> bool:
    if day_rule == "vixie":
        return not (cron.day_starred or cron.weekday_starred)
    return day_rule == "or" and _both_days(cron)


def unwrapped(field: str, kind: str) -> str:
    """A field whose ranges may run over its end, such as 22-2, with those ranges as lists."""
    return ",".join(_unwrapped_item(item, kind) for item in field.split(","))


def _unwrapped_item(item: str, kind: str) -> str:
    match = _WRAP.fullmatch(item.lower())
    if match is None:
        return item
    low, high = BOUNDS[kind]
    first, last = number_of(match[1], kind), number_of(match[2], kind)
    if first is None or last is None or not low <= last < first <= high:
        return item
    turn = [*range(first, high + 1), *range(low, last + 1)][:: max(1, int(match[3] or 1))]
    return ",".join(str(value) for value in sorted(turn))


def number_of(word: str, kind: str) -> int | None:
    """The number that a word of a field names; None if it is neither number nor name."""
    if word.isdecimal() and word.isascii() and len(word) < 5:
        return int(word)
    names = {"day-of-week": WEEKDAYS, "month": MONTHS}.get(kind, ())
    if word.lower()[:3] not in names or len(word) < 3:
        return None
    return names.index(word.lower()[:3]) + (kind == "month")
