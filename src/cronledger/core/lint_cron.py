"""What looks like a slip in the text of a cron, whatever the calendar says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from cronledger.core import cron_field
from cronledger.core.cron import Layout
from cronledger.core.cron_field import Kind, read_field
from cronledger.core.findings import Finding, Severity
from cronledger.core.nominal import unites
from cronledger.core.schedule import DayRule
from cronledger.core.words import MONTHS, join, month_days, week_days

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cronledger.core.cron import Cron
    from cronledger.core.schedule import Timing

_FIVE = (
    cron_field.MINUTE,
    cron_field.HOUR,
    cron_field.DAY,
    cron_field.MONTH,
    cron_field.WEEKDAY,
)
_KINDS: Final = {
    Layout.FIVE: _FIVE,
    Layout.SECONDS: (cron_field.SECOND, *_FIVE),
    Layout.YEAR: (*_FIVE, cron_field.YEAR),
    Layout.SEVEN: (cron_field.SECOND, *_FIVE, cron_field.YEAR),
}
# After how many values a field starts anew. Months differ in length, so no step divides them.
_CYCLES: Final = {
    cron_field.SECOND: 60,
    cron_field.MINUTE: 60,
    cron_field.HOUR: 24,
    cron_field.MONTH: 12,
    cron_field.WEEKDAY: 7,
}
_STEP = re.compile(r"(?P<range>\*|(?P<first>\w+)(?:-(?P<last>\w+))?)/(?P<step>[0-9]+)")
_DURATIONS: Final = {
    cron_field.SECOND: "PT{}S",
    cron_field.MINUTE: "PT{}M",
    cron_field.HOUR: "PT{}H",
    cron_field.DAY: "P{}D",
    cron_field.MONTH: "P{}M",
    cron_field.WEEKDAY: "P{}D",
}
# The days of each month, in a year that has the fewest.
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS: Final = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]


class _Item(NamedTuple):
    """One item of a field's list, and where it stands in the text."""

    kind: Kind
    text: str
    offset: int


def lint_cron(cron: Cron, timing: Timing, *, clock_changes: bool) -> Iterator[Finding]:
    """Findings in the text alone. `clock_changes`: the zone will change its clock soon."""
    yield from _both_day_fields(cron, timing.day_rule)
    for item in _items(cron):
        yield from _uneven_step(item)
        yield from _short_months(cron, item)
        yield from _full_set(cron, item, clock_changes=clock_changes)
        if clock_changes:
            yield from _hours_step(item)


def _items(cron: Cron) -> Iterator[_Item]:
    words = list(re.finditer(r"\S+", cron.text))
    if cron.text.lstrip().startswith("@"):
        return
    for kind, word in zip(_KINDS[cron.layout], words, strict=True):
        for item in re.finditer(r"[^,]+", word[0]):
            yield _Item(kind, item[0].upper(), word.start() + item.start())


def _both_day_fields(cron: Cron, rule: DayRule) -> Iterator[Finding]:
    """Two day fields under the rule that nobody chose; a rule that is written down is meant."""
    bare = cron.day_bare or cron.weekday_bare
    if bare or rule is not DayRule.VIXIE:
        return
    by_day = month_days(cron) or "the days of the month given"
    by_week = week_days(cron) or "the days of the week given"
    if unites(cron, rule):
        what = f"both day fields are set, so it runs on {by_day} and also on {by_week}"
        instead = "write day_rule: or if that is meant, day_rule: and for days that are both"
    else:
        what = f"both day fields are set and one starts with *, so it runs only on {by_week} "
        what += f"that are also {by_day}"
        instead = "write day_rule: and if that is meant, day_rule: or for days that are either"
    yield Finding("both-day-fields", Severity.WARNING, f"{what}; {instead}")


def _uneven_step(item: _Item) -> Iterator[Finding]:
    step = _whole_step(item)
    if step < 2:
        return
    values = read_field(item.kind, item.text, 0).values
    name, cycle = item.kind.name, _CYCLES.get(item.kind)
    if cycle is not None and cycle % step == 0:
        return
    if len(values) == 1:
        what = f"the step of {item.text} is larger than the {name} field"
        yield _warning("uneven-step", f"{what}; write {values[0]}, which is all it names", item)
        return
    every = f"every: {_DURATIONS[item.kind].format(step)} for even intervals"
    if cycle is None:
        what = f"{item.text} starts anew in each month, so its steps are uneven there"
        yield _warning("uneven-step", f"{what}; write the days, or {every}", item)
        return
    last = cycle - values[-1] + values[0]
    what = f"{item.text} does not divide {cycle}: the step from {values[-1]} to {values[0]} is "
    near = join([f"{item.text.split('/')[0]}/{n}" for n in _divisors_near(cycle, step)])
    instead = f"write {near.replace(' and ', ' or ')}, or {every}" if near else f"write {every}"
    yield _warning("uneven-step", f"{what}{last}, not {step}; {instead}", item)


def _whole_step(item: _Item) -> int:
    """The step of an item that goes all through its field; 0 for any other item."""
    match = _STEP.fullmatch(item.text)
    if match is None or item.kind is cron_field.YEAR:
        return 0
    values = read_field(item.kind, item.text.split("/")[0], 0).values
    open_ended = match["range"] == "*" or match["last"] is None
    return int(match["step"]) if open_ended or len(values) >= _size(item.kind) else 0


def _size(kind: Kind) -> int:
    return _CYCLES.get(kind, 31)


def _divisors_near(cycle: int, step: int) -> list[int]:
    """The largest divisor below `step` and the smallest above it; not 1, nor the cycle itself."""
    found = [n for n in range(2, cycle) if cycle % n == 0]
    return [n for n in found if n < step][-1:] + [n for n in found if n > step][:1]


def _hours_step(item: _Item) -> Iterator[Finding]:
    step = _whole_step(item)
    if item.kind is cron_field.HOUR and step > 1:
        what = f"{item.text} names hours of the day, so where the clock changes a run is left out, "
        what += f"doubled, or not {step} hours after the last"
        instead = f"write every: PT{step}H or timezone: UTC for even intervals"
        yield Finding("hours-step", Severity.HINT, f"{what}; {instead}", offset=item.offset)


def _short_months(cron: Cron, item: _Item) -> Iterator[Finding]:
    match = re.fullmatch(r"(\d+)(?:-\d+)?W?", item.text)
    if item.kind is not cron_field.DAY or match is None or int(match[1]) < 29:
        return
    day = int(match[1])
    lacking = [m for m in cron.months if _LENGTHS[m - 1] < day]
    if lacking:
        names = join([MONTHS[month - 1][:3] for month in lacking])
        often = " but for leap years" if lacking == [2] and day == 29 else ""
        what = f"there is no day {day} in {names}{often}, so nothing runs there for it"
        yield _warning("short-months", f"{what}; write L for the last day of every month", item)


def _full_set(cron: Cron, item: _Item, *, clock_changes: bool) -> Iterator[Finding]:
    if "*" in item.text or item.kind is cron_field.YEAR:
        return
    if not re.fullmatch(r"\w+-\w+(/0*1)?|\w+/0*1", item.text):
        return
    if len(read_field(item.kind, item.text, 0).values) < _size(item.kind):
        return
    what, severity = f"{item.text} names every {item.kind.name} without a *", Severity.HINT
    starred = cron.minute_starred or cron.hour_starred
    if item.kind in {cron_field.MINUTE, cron_field.HOUR} and clock_changes and not starred:
        what += ", so clock changes treat its runs as times of day and merge or drop some"
        severity = Severity.WARNING
    elif item.kind in {cron_field.DAY, cron_field.WEEKDAY} and not (
        cron.day_bare or cron.weekday_bare
    ):
        what += ", so by day_rule vixie it counts as a restriction"
        severity = Severity.WARNING
    yield Finding("full-set", severity, f"{what}; write *", offset=item.offset)


def _warning(code: str, message: str, item: _Item) -> Finding:
    return Finding(code, Severity.WARNING, message, offset=item.offset)
