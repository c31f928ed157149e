"""Calendar expressions of systemd (OnCalendar) as cron texts, where a cron can say them exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cronledger.adapters.imports import cron_text
from cronledger.adapters.imports.model import CronTrigger
from cronledger.core.cron import Layout

_SHORTHANDS: Final = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
    "semi-annually": "*-01,07-01 00:00:00",
    "biannually": "*-01,07-01 00:00:00",
    "bi-annually": "*-01,07-01 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
    "anually": "*-01-01 00:00:00",
}
_FULL_DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_WEEKDAY_WORD = re.compile(r"[A-Za-z]{3,9}(?:(?:\.\.|-|,)[A-Za-z]{3,9})*,?")
_DATE = re.compile(r"(?:(?P<year>[\d*.,/]+)-)?(?P<month>[\d*.,/]+)(?P<mark>[-~])(?P<day>[\d*.,/]+)")
_TIME = re.compile(r"(?P<hour>[\d*.,/]+):(?P<minute>[\d*.,/]+)(?::(?P<second>[\d*.,/]+))?")
_ITEM = re.compile(r"(\d{1,4})(?:\.\.(\d{1,4}))?(?:/(\d{1,4}))?")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")


class CalendarError(ValueError):
    """An expression that systemd refuses, or that no cron says; the message says which."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """An expression as a cron, with the zone at its end. Weekdays and days must both match."""

    trigger: CronTrigger
    zone: str | None


def read(text: str) -> Calendar:
    """The calendar that `text` spells. Raises CalendarError."""
    words = text.split()
    if not words:
        raise CalendarError("no expression; write one such as *-*-* 02:00:00")
    if words[0].startswith("@"):
        raise CalendarError("one moment, counted in seconds; it never comes again")
    weekdays = "*"
    if words[0].lower() in _SHORTHANDS:
        words[:1] = _SHORTHANDS[words[0].lower()].split()
    if _WEEKDAY_WORD.fullmatch(words[0]):
        weekdays = _weekdays(words.pop(0))
    date = _DATE.fullmatch(words[0]) if words else None
    words = words[1:] if date else words
    time = _TIME.fullmatch(words[0]) if words else None
    words = words[1:] if time else words
    zone = words.pop(0) if words and _ZONE.fullmatch(words[0]) else None
    if words or not (date or time or weekdays != "*"):
        rest = " ".join(words) or text
        raise CalendarError(f"{rest[:40]!r} is no part of a calendar expression")
    day, month, year = _date(date)
    clock = [_field(part, name) for part, name in _clock(time)]
    fields = [clock[2], clock[1], clock[0], day, month, weekdays, year]
    return Calendar(cron_text.trigger_of(fields, Layout.SEVEN), "UTC" if _is_utc(zone) else zone)


def _is_utc(zone: str | None) -> bool:
    return zone is not None and zone.upper() == "UTC"


def _weekdays(word: str) -> str:
    return ",".join(_weekday_item(item) for item in word.rstrip(",").split(","))


def _weekday_item(item: str) -> str:
    ends = [_weekday(name) for name in re.split(r"\.\.|-", item)]
    if len(ends) == 1:
        return str(ends[0])
    # The week of systemd begins on Monday and ends on Sunday.
    first, last = ends[0] or 7, ends[-1] or 7
    if len(ends) > 2 or first > last:
        raise CalendarError(f"the weekdays {item!r} run backwards")
    return f"{first}-{last}" if first < last else str(first % 7)


def _weekday(name: str) -> int:
    word = name.lower()
    if word in _FULL_DAYS:
        return _FULL_DAYS.index(word)
    if word in cron_text.WEEKDAYS:
        return cron_text.WEEKDAYS.index(word)
    raise CalendarError(f"{name!r} is no weekday")


def _date(match: re.Match[str] | None) -> tuple[str, str, str]:
    """Day, month and year as fields of a cron."""
    if match is None:
        return "*", "*", "*"
    year = match["year"] or "*"
    year = ",".join(_long_year(item) for item in year.split(","))
    if match["mark"] == "~" and match["day"] != "*":
        return _from_the_end(match["day"]), _field(match["month"], "month"), _field(year, "year")
    day = _field(match["day"], "day-of-month")
    return day, _field(match["month"], "month"), _field(year, "year")


def _long_year(item: str) -> str:
    """Years of two digits are of 1970 to 2069."""
    short = re.fullmatch(r"\d\d", item)
    return str(int(item) + (1900 if int(item) >= 70 else 2000)) if short else item


def _from_the_end(text: str) -> str:
    """Days counted from the end of the month: ~01 is its last."""
    found = []
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None or match[3]:
            raise CalendarError(f"no cron says '~{text}'; write the last days one by one")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= 31:
            raise CalendarError(f"no month has a day ~{item}")
        found += [f"L-{n - 1}" if n > 1 else "L" for n in range(first, last + 1)]
    return ",".join(found)


def _clock(match: re.Match[str] | None) -> list[tuple[str, str]]:
    if match is None:
        return [("0", "hour"), ("0", "minute"), ("0", "second")]
    return [
        (match["hour"], "hour"),
        (match["minute"], "minute"),
        (match["second"] or "0", "second"),
    ]


def _field(text: str, name: str) -> str:
    if text == "*":
        return "*"
    return ",".join(_item(item, name) for item in text.split(","))


def _item(text: str, name: str) -> str:
    if name == "second" and re.search(r"\d\.\d", text.replace("..", "-")):
        raise CalendarError(f"{text!r} is a fraction of a second; write whole seconds")
    match = _ITEM.fullmatch(text)
    if match is None:
        raise CalendarError(f"{text[:30]!r} is no {name}; write for example 0/15 or 1..5")
    low, high = cron_text.BOUNDS.get(name, (1970, 2199))
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if not low <= first <= last <= high or step < 1:
        raise CalendarError(f"{text!r} is no {name}; it has {low} to {high}")
    if match[3] and not match[2] and first + step > high:
        raise CalendarError(f"the step of {text!r} never comes; {name} ends at {high}")
    if match[3]:
        return f"{first}-{last}/{step}" if match[2] else f"{first}/{step}"
    return f"{first}-{last}" if match[2] and last > first else str(first)
