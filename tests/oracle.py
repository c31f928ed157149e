"""What a cron owes, found by walking the clock: an oracle that shares no code with the source.

Nothing here computes a "next" time. Every UTC minute (or second) of a window is looked at, zoneinfo
says what the wall clock shows, and a predicate says whether the cron asks for that. A gap is found
by the jump of the offset.
"""

from __future__ import annotations

import calendar
import io
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@cache
def pinned(name: str) -> ZoneInfo:
    """The zone by zoneinfo's own reading of the pinned wheel's file."""
    path = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    return ZoneInfo.from_file(io.BytesIO(path.read_bytes()), name)


def offset_at(zone: ZoneInfo, epoch: int) -> int:
    """Seconds east of UTC at an epoch, as zoneinfo has it."""
    found = (EPOCH + timedelta(seconds=epoch)).astimezone(zone).utcoffset()
    assert found is not None
    return round(found.total_seconds())


@dataclass
class Landing:
    """What landed on one instant: how many wall times, and whether its own is one of them."""

    collapsed: int = 0
    own: bool = False


@dataclass
class Policies:
    """The DST policy and the day rule, by the words of the schedule file."""

    gap: str = "next"
    fold: str = "first"
    wildcard: str = "elapsed"
    day_rule: str = "vixie"


@dataclass
class Expression:
    """The fields of a cron, each as text; matched by looking at one wall time after another."""

    minute: str
    hour: str
    day: str = "*"
    month: str = "*"
    weekday: str = "*"
    second: str = "0"
    year: str = "*"
    _days: dict[tuple[str, date], bool] = field(default_factory=dict)
    _clock: dict[int, bool] = field(default_factory=dict)

    def asks_for(self, wall: int, day_rule: str) -> bool:
        """Whether the wall time (seconds since 1970 on the wall clock) matches every field."""
        second_of_day = wall % 86400
        if second_of_day not in self._clock:
            hour, minute, second = second_of_day // 3600, second_of_day // 60 % 60, wall % 60
            self._clock[second_of_day] = (
                says(self.second, second, 0, 59)
                and says(self.minute, minute, 0, 59)
                and says(self.hour, hour, 0, 23)
            )
        if not self._clock[second_of_day]:
            return False
        day = date(1970, 1, 1) + timedelta(days=wall // 86400)
        if (day_rule, day) not in self._days:
            self._days[day_rule, day] = self.asks_for_day(day, day_rule)
        return self._days[day_rule, day]

    def asks_for_day(self, day: date, day_rule: str) -> bool:
        """Whether the date matches the day, month and year fields."""
        if not says(self.month, day.month, 1, 12, MONTHS, 1):
            return False
        if self.year != "*" and not says(self.year, day.year, 1970, 2199):
            return False
        by_day = any(says_day(item, day) for item in self.day.upper().split(","))
        by_week = any(says_weekday(item, day) for item in self.weekday.upper().split(","))
        if day_rule == "vixie" and self.day[0] != "*" and self.weekday[0] != "*":
            return by_day or by_week
        if day_rule == "or" and "*" not in (self.day, self.weekday):
            return by_day or by_week
        return by_day and by_week

    def runs_every_slot(self, wildcard: str) -> bool:
        """Whether the clock changes do not matter to it."""
        if wildcard == "elapsed":
            return "*" in (self.minute[0], self.hour[0])
        return wildcard == "star" and self.hour == "*"


def says(
    text: str, value: int, low: int, high: int, names: tuple[str, ...] = (), base: int = 0
) -> bool:
    """Whether a field's text names the value."""
    return any(item_says(item, value, low, high, names, base) for item in text.upper().split(","))


def item_says(
    item: str, value: int, low: int, high: int, names: tuple[str, ...], base: int
) -> bool:
    """Whether one item of a list names the value."""
    for number, name in enumerate(names, base):
        item = item.replace(name, str(number))
    span, _, step = item.partition("/")
    if span == "*":
        first, last = low, high
    elif "-" in span:
        first, last = (int(end) for end in span.split("-"))
    else:
        first, last = int(span), high if step else int(span)
    return first <= value <= last and (value - first) % int(step or 1) == 0


def says_day(item: str, day: date) -> bool:
    """Whether one item of the day-of-month field names the date."""
    length = calendar.monthrange(day.year, day.month)[1]
    if item == "L":
        return day.day == length
    if item.startswith("L-"):
        return day.day == length - int(item[2:])
    if item.endswith("W"):
        wanted = length if item == "LW" else int(item[:-1])
        return wanted <= length and day == working_day(day.replace(day=wanted))
    return item_says(item, day.day, 1, 31, (), 0)


def working_day(wanted: date) -> date:
    """The weekday nearest to a date among those of its month."""
    month = [
        wanted.replace(day=n + 1) for n in range(calendar.monthrange(wanted.year, wanted.month)[1])
    ]
    working = [day for day in month if day.weekday() < 5]
    return min(working, key=lambda day: abs(day - wanted))


def says_weekday(item: str, day: date) -> bool:
    """Whether one item of the day-of-week field names the date."""
    sunday_first = (day.weekday() + 1) % 7
    if "#" in item:
        name, nth = item.split("#")
        return says_weekday(name, day) and sum(
            1 for n in range(1, day.day + 1) if n % 7 == day.day % 7
        ) == int(nth)
    if item.endswith("L"):
        later = day + timedelta(days=7)
        return says_weekday(item[:-1], day) and later.month != day.month
    if item.endswith("-SUN") and not item.startswith("SUN"):
        item = item.replace("-SUN", "-7")
    return any(
        item_says(item, number, 0, 7, WEEKDAYS, 0) for number in {sunday_first, sunday_first or 7}
    )


def walk(
    expression: Expression, policies: Policies, zone: ZoneInfo, start: int, end: int, step: int = 60
) -> dict[int, Landing]:
    """What lands in the epochs `[start, end)`. `step` 1 where seconds matter, else 60."""
    margin = _largest_jump(zone, start, end) + 3600
    first, last = (start - margin) // step * step, end + margin
    shown: dict[int, list[int]] = {}
    jumped: list[tuple[int, int, int]] = []
    before = offset_at(zone, first - step)
    for epoch in range(first, last, step):
        offset = offset_at(zone, epoch)
        if offset > before:
            change = next(
                n for n in range(epoch - step + 1, epoch + 1) if offset_at(zone, n) == offset
            )
            jumped += [
                (wall, change, before)
                for wall in range(change + before, change + offset, step)
                if expression.asks_for(wall, policies.day_rule)
            ]
        before = offset
        if expression.asks_for(epoch + offset, policies.day_rule):
            shown.setdefault(epoch + offset, []).append(epoch)
    landed = _settle(expression, policies, shown, jumped)
    return {epoch: landing for epoch, landing in sorted(landed.items()) if start <= epoch < end}


def _largest_jump(zone: ZoneInfo, start: int, end: int) -> int:
    probes = [offset_at(zone, epoch) for epoch in range(start - 108000, end + 108000, 3600)]
    return max(abs(after - before) for before, after in pairwise(probes))


def _settle(
    expression: Expression,
    policies: Policies,
    shown: dict[int, list[int]],
    jumped: list[tuple[int, int, int]],
) -> dict[int, Landing]:
    every_slot = expression.runs_every_slot(policies.wildcard)
    landed: dict[int, Landing] = {}
    moved: Counter[int] = Counter()
    for epochs in shown.values():
        chosen = epochs
        if not every_slot and policies.fold != "both":
            chosen = [min(epochs) if policies.fold == "first" else max(epochs)]
        for epoch in chosen:
            landed[epoch] = Landing(1, own=True)
    for wall, change, offset in jumped:
        if not every_slot and policies.gap != "skip":
            moved[change if policies.gap == "next" else wall - offset] += 1
    for epoch, count in moved.items():
        landed.setdefault(epoch, Landing()).collapsed += count
    return landed


def settle_walls(walls: list[int], policies: Policies, zone: ZoneInfo) -> list[int]:
    """Where wall times land, each asked of zoneinfo by itself: ascending and unique."""
    found: set[int] = set()
    for wall in walls:
        naive = EPOCH.replace(tzinfo=None) + timedelta(seconds=wall)
        offsets = []
        for fold in (0, 1):
            offset = naive.replace(tzinfo=zone, fold=fold).utcoffset()
            assert offset is not None
            offsets.append(round(offset.total_seconds()))
        epochs = [wall - offset for offset in offsets]
        shown = sorted({epoch for epoch in epochs if epoch + offset_at(zone, epoch) == wall})
        if shown:
            chosen = {"first": shown[:1], "second": shown[-1:], "both": shown}
            found.update(chosen[policies.fold])
        elif policies.gap == "shift":
            found.add(wall - offsets[0])
        elif policies.gap == "next":
            low, high = wall - offsets[1], wall - offsets[0]
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (
                    (middle, high) if offset_at(zone, middle) == offsets[0] else (low, middle)
                )
            found.add(high)
    return sorted(found)
