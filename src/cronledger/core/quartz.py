"""Quartz's cron dialect in our own words: seconds first, `?`, weekdays from Sunday = 1."""

from __future__ import annotations

import re
from typing import Final

from cronledger.core.cron import TEXT_MAX, Cron, Layout, parse
from cronledger.core.cron_field import CronError

_NAMES: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LAYOUTS: Final = {6: Layout.SECONDS, 7: Layout.SEVEN}
_ORDER = "second minute hour day-of-month month day-of-week, and a year if need be"
_DAY, _WEEKDAY = 3, 5
# Numbers of weekdays in an item; those behind / and # count something else.
_WEEKDAYS = re.compile(r"(?<![/#0-9])[0-9]+")


def parse_quartz(text: str) -> Cron:
    """The Cron that `text` spells in Quartz; its own text is the same in our words.

    Raises CronError with the column in `text`.
    """
    if len(text) > TEXT_MAX:
        raise CronError(f"longer than {TEXT_MAX} characters; use several schedules", TEXT_MAX)
    words = [(word[0], word.start()) for word in re.finditer(r"\S+", text)]
    if len(words) not in _LAYOUTS:
        count = f"{len(words)} field{'' if len(words) == 1 else 's'} instead of 6 or 7"
        raise CronError(f"{count}; Quartz has {_ORDER}", len(text.rstrip()))
    _check_days(*words[_DAY], *words[_WEEKDAY])
    shown = [word for word, _ in words]
    shown[_DAY] = "*" if shown[_DAY] == "?" else shown[_DAY]
    shown[_WEEKDAY] = _weekdays(*words[_WEEKDAY])
    try:
        return parse(" ".join(shown), _LAYOUTS[len(words)])
    except CronError as error:
        raise CronError(error.message, _column_in(words, shown, error.column)) from None


def _check_days(day: str, day_column: int, weekday: str, weekday_column: int) -> None:
    if day == "?" and weekday == "?":
        message = "? in both day fields names no day; write * in one of them"
        raise CronError(message, weekday_column)
    if "?" not in (day, weekday):
        if weekday == "*":
            raise CronError("Quartz takes one day field only; write ? here", weekday_column)
        if day == "*":
            raise CronError("Quartz takes one day field only; write ? here", day_column)
        message = "Quartz takes one day field only; write ? in the other, and two schedules for two"
        raise CronError(message, weekday_column)


def _weekdays(text: str, column: int) -> str:
    """The day-of-week field by names, in which both dialects agree."""
    if text == "?":
        return "*"
    shown = []
    for item in text.split(","):
        for match in _WEEKDAYS.finditer(item):
            if not 1 <= int(match[0][:3]) <= 7:
                message = f"day-of-week {match[0][:9]} is out of bounds; write 1 (Sunday) to 7"
                raise CronError(message, column + match.start())
        named = _WEEKDAYS.sub(lambda match: _NAMES[int(match[0]) - 1], item)
        # Quartz counts a step up to Saturday, the end of its week; so does a bare L mean it.
        named = re.sub(r"^([A-Za-z]+)/", r"\1-SAT/", named)
        shown.append("SAT" if item.upper() == "L" else named)
        column += len(item) + 1
    return ",".join(shown)


def _column_in(words: list[tuple[str, int]], shown: list[str], column: int) -> int:
    """Where the character at `column` of what is shown stands in the text as written."""
    for (word, start), ours in zip(words, shown, strict=True):
        if column <= len(ours):
            # Within a field that was respelled only its begin is certain.
            return start + (min(column, len(word)) if word == ours else 0)
        column -= len(ours) + 1
    return words[-1][1] + len(words[-1][0])
