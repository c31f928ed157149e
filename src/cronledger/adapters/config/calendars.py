"""Business calendars of the file, by name or within a schedule, and what a schedule leaves out."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.models import (
    NAME_FORM,
    QUEUE_NAME,
    CalendarModel,
    ExceptModel,
    TimingModel,
    Weekday,
)
from cronledger.adapters.config.nodes import TextNode
from cronledger.adapters.config.public_holidays import public_holidays
from cronledger.adapters.config.triggers import Ground, build_cron, build_rrule, kind_of_trigger
from cronledger.adapters.config.zonebook import instant_of
from cronledger.core.calendars import REST_DAYS_MAX, Calendar, Roll, first_long_rest
from cronledger.core.every import Elapsed
from cronledger.core.instants import to_epoch
from cronledger.core.triggers import At, Exclusions, singles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cronledger.adapters.config.part import Part
    from cronledger.core.cron import Cron
    from cronledger.core.rrule import Rrule
    from cronledger.core.triggers import Trigger

EXCEPT_MAX = 100
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_WEEKDAYS = list(Weekday)
_EXCEPT = ("dates", "between", "cron", "rrule")


def build_calendar(part: Part) -> Calendar | None:
    """One calendar, with the holidays it names as dates; None, and reported, if it is no use."""
    model = part.shape(CalendarModel)
    exclude, include = _days(model.exclude), _days(model.include)
    for index, day in enumerate(model.include or ()):
        if day is not None and _number(day) in exclude:
            message = f"include: {day} stands under 'exclude' too; remove one of the two"
            part.refuse(["include", index], message)
    holidays: set[int] = set()
    if model.holidays is not None:
        try:
            found = public_holidays(model.holidays.country, model.holidays.subdivision)
            holidays = {_number(day) for day in found}
        except ValueError as error:
            part.refuse(["holidays"], f"holidays: {error}")
    weekend = {_WEEKDAYS.index(day) for day in model.weekend or () if day is not None}
    calendar = Calendar(
        tuple(sorted(weekend)), tuple(sorted(exclude | holidays)), tuple(sorted(include))
    )
    return calendar if _has_business(part, calendar) else None


def _has_business(part: Part, calendar: Calendar) -> bool:
    if len(calendar.weekend) == len(_WEEKDAYS):
        part.refuse(["weekend"], "weekend: holds every day of the week; leave the others out")
        return False
    rest = first_long_rest(calendar)
    if rest is not None:
        message = f"no business day for more than {REST_DAYS_MAX} days from {_date(rest)}"
        part.refuse_at(part.place, f"{message}; exclude fewer, or pause the schedule")
    return rest is None


def check_calendar_name(part: Part, name: str) -> None:
    """Reports a name that no calendar may have."""
    if QUEUE_NAME.fullmatch(name) is None:
        part.refuse_at(part.place, f"{shown(name)} is no calendar name; write {NAME_FORM}")


def calendar_of(
    part: Part, model: TimingModel, calendars: Mapping[str, Calendar | None]
) -> tuple[Calendar | None, Roll]:
    """The calendar of a schedule, named or written out, and what it does with other days."""
    roll = model.roll or Roll.NONE
    entry = part.node.entries.get("calendar")
    if entry is None:
        if model.roll is not None:
            message = "roll: says nothing without a calendar; write calendar: beside it"
            part.refuse_at(part.node.entries["roll"].key_place, message)
        return None, Roll.NONE
    if not isinstance(entry.value, TextNode):
        within = part.within("calendar")
        return (None if within is None else build_calendar(within)), roll
    name = entry.value.text
    if name not in calendars:
        known = ", ".join(calendars) or "none"
        message = f"calendar: there is no calendar {shown(name)}; known under 'calendars': {known}"
        part.refuse(["calendar"], message)
        return None, roll
    return calendars[name], roll


def check_roll(part: Part, trigger: Trigger, roll: Roll) -> None:
    """Reports a roll of instants, which belong to no day that could be moved."""
    steady = [single for single in singles(trigger) if isinstance(single, Elapsed | At)]
    if roll is not Roll.NONE and steady:
        message = f"roll: {steady[0].text[:60]} names instants, not times of a day"
        part.refuse(["roll"], f"{message}; write every: P1D, a cron, or roll: none")


def build_exclusions(part: Part, ground: Ground) -> Exclusions:
    """What `except` takes out; what is wrong in it is reported and left out."""
    dates: set[int] = set()
    spans: list[tuple[int, int]] = []
    rules: list[Cron | Rrule] = []
    for number, item in enumerate(part.items("except")):
        if number == EXCEPT_MAX:
            part.refuse(["except"], f"except: more than {EXCEPT_MAX} items; list dates together")
            break
        model = item.shape(ExceptModel)
        kind = kind_of_trigger(item, _EXCEPT)
        if kind == "dates":
            dates |= _days(model.dates)
        elif kind == "between":
            spans += _span(item, model, ground)
        elif kind is not None:
            rules += _rule(item, model, ground)
    return Exclusions(tuple(sorted(dates)), tuple(_merged(spans)), tuple(rules))


def _span(part: Part, model: ExceptModel, ground: Ground) -> list[tuple[int, int]]:
    given = model.between or []
    if None in given or model.between is None:
        return []
    epochs = [to_epoch(instant_of(time, ground.zone)) for time in given if time is not None]
    if len(epochs) != 2 or epochs[0] >= epochs[1]:
        message = "between: expected two times, the first the earlier"
        part.refuse(["between"], f"{message}; write [2026-12-24, 2026-12-27], the 27th excluded")
        return []
    return [(epochs[0], epochs[1])]


def _rule(part: Part, model: ExceptModel, ground: Ground) -> list[Cron | Rrule]:
    found: Cron | Rrule | None
    if model.cron is not None:
        found = build_cron(part, model.cron, ground.name)
    else:
        found = build_rrule(part, model, ground)
    return [] if found is None else [found]


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _days(dates: Iterable[date | None] | None) -> set[int]:
    return {_number(day) for day in dates or () if day is not None}


def _date(number: int) -> date:
    return date.fromordinal(number + _EPOCH_ORDINAL)


def _number(day: date) -> int:
    """Days since 1970-01-01."""
    return day.toordinal() - _EPOCH_ORDINAL
