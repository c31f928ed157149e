"""A cron in plain English: exact, or nothing at all.

What no sentence says exactly is left to whoever shows the fields themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from cronledger.core.nominal import unites

if TYPE_CHECKING:
    from cronledger.core.cron import Cron
    from cronledger.core.schedule import DayRule

# A longer list is read by nobody.
_LISTED_MAX: Final = 6

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS: Final = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
_NTH: Final = ("first", "second", "third", "fourth", "fifth")
_WORKING_DAY: Final = "working day (Monday to Friday)"


def describe(cron: Cron, rule: DayRule) -> str | None:
    """When the cron runs, such as `at 02:30 every day`; None if no short sentence says it."""
    clock, days = _clock(cron), _days(cron, rule)
    if clock is None or days is None:
        return None
    if days == _EVERY_DAY and "every" in clock:
        days = ""
    when = " ".join(part for part in (clock, days) if part)
    return when if cron.years is None else f"{when}, {_in_years(cron.years)}"


def month_days(cron: Cron, of: str = "the month") -> str | None:
    """The day-of-month field by itself, such as `the 1st and 15th of the month`."""
    names = _listed_days(cron.days)
    if names is None:
        return None
    special = [_last(offset) for offset in reversed(cron.last_days)]
    special += [_nearest(day) for day in cron.nearest_weekdays]
    if not special:
        return f"the {names} of {_those(of, cron.days)}"
    parts = [f"the {names}"] if names else []
    return f"{join(parts + special)} of {of}"


def week_days(cron: Cron, of: str = "the month") -> str | None:
    """The day-of-week field by itself, such as `Mondays`, `the last Friday of the month`."""
    special = [f"the {_NTH[nth - 1]} {_WEEKDAYS[day]}" for day, nth in cron.nth_weekdays]
    special += [f"the last {_WEEKDAYS[day]}" for day in cron.last_weekdays]
    if special:
        if any(nth == 5 for _, nth in cron.nth_weekdays) or cron.weekdays:
            return None
        return f"{join(special)} of {of}"
    names = [f"{_WEEKDAYS[day]}s" for day in _from_monday(cron.weekdays)]
    if _is_run(tuple((day - 1) % 7 for day in _from_monday(cron.weekdays))):
        return f"{names[0]} to {names[-1]}"
    return join(names)


def join(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


_EVERY_DAY: Final = "every day"


def _clock(cron: Cron) -> str | None:
    seconds, minutes, hours = cron.seconds, cron.minutes, cron.hours
    if len(minutes) * len(hours) * len(seconds) <= _LISTED_MAX:
        times = [_time(h, m, s) for h in hours for m in minutes for s in seconds]
        return f"at {join(times)}"
    if seconds != (0,):
        whole = len(minutes) == 60 and len(hours) == 24
        return _every(seconds, 60, "second") if whole else None
    if len(hours) == 24:
        return _every(minutes, 60, "minute") or _at_minutes(minutes)
    return _spread(minutes, hours)


def _every(values: tuple[int, ...], cycle: int, unit: str) -> str | None:
    """`every 5 minutes`, if the values are that far apart all around the cycle."""
    step = cycle // len(values)
    if values != tuple(range(0, cycle, step)):
        return None
    if step == cycle:
        return f"every {'hour' if unit == 'minute' else 'minute'}"
    return f"every {unit}" if step == 1 else f"every {step} {unit}s"


def _at_minutes(minutes: tuple[int, ...]) -> str | None:
    if len(minutes) > _LISTED_MAX:
        return None
    names = join([str(minute) for minute in minutes])
    return f"at minute{'s' * (len(minutes) > 1)} {names} of every hour"


def _spread(minutes: tuple[int, ...], hours: tuple[int, ...]) -> str | None:
    """`every 5 minutes from 08:00 to 17:55`, if all times of a day are that far apart."""
    times = [hour * 60 + minute for hour in hours for minute in minutes]
    steps = {after - before for before, after in pairwise(times)}
    if len(steps) != 1:
        return None
    step = steps.pop()
    first, last = (_time(*divmod(time, 60), 0) for time in (times[0], times[-1]))
    amount, unit = (step // 60, "hour") if step % 60 == 0 else (step, "minute")
    every = f"every {unit}" if amount == 1 else f"every {amount} {unit}s"
    return f"{every} from {first} to {last}"


def _time(hour: int, minute: int, second: int) -> str:
    return f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")


def _days(cron: Cron, rule: DayRule) -> str | None:
    any_day, any_weekday = len(cron.days) == 31, len(cron.weekdays) == 7
    either = unites(cron, rule)
    months = _months(cron.months)
    of = months or "the month"
    if (any_day or any_weekday) if either else (any_day and any_weekday):
        return f"{_EVERY_DAY} in {months}" if months else _EVERY_DAY
    by_day, by_week = month_days(cron, of), week_days(cron, of)
    if not cron.nth_weekdays and not cron.last_weekdays and months and by_week:
        by_week += f" in {months}"
    if any_day and not either:
        return by_week and f"on {by_week}"
    if any_weekday and not either:
        return by_day and f"on {by_day}"
    return _both(cron, by_day, by_week, either=either)


def _both(cron: Cron, by_day: str | None, by_week: str | None, *, either: bool) -> str | None:
    if by_day is None or by_week is None:
        return None
    if either:
        return f"on {by_day}, and on {by_week}"
    if cron.nth_weekdays or cron.last_weekdays or len(cron.months) < 12:
        return None
    return f"on {by_week} that fall on {by_day}"


def _listed_days(days: tuple[int, ...]) -> str | None:
    if _is_run(days):
        return f"{_ordinal(days[0])} to {_ordinal(days[-1])}"
    if len(days) > _LISTED_MAX:
        return None
    return join([_ordinal(day) for day in days])


def _those(of: str, days: tuple[int, ...]) -> str:
    """The months meant, where not every month has this one day."""
    if of != "the month" or len(days) > 1 or days[-1] < 29:
        return of
    return "each month that has it"


def _last(offset: int) -> str:
    if offset == 0:
        return "the last day"
    return f"the day {offset} day{'s' * (offset > 1)} before the last"


def _nearest(day: int) -> str:
    return (
        f"the {_WORKING_DAY} nearest to the {_ordinal(day)}" if day else f"the last {_WORKING_DAY}"
    )


def _from_monday(weekdays: tuple[int, ...]) -> list[int]:
    return sorted(weekdays, key=lambda day: (day - 1) % 7)


def _months(months: tuple[int, ...]) -> str:
    if len(months) == 12:
        return ""
    names = [MONTHS[month - 1] for month in months]
    return f"{names[0]} to {names[-1]}" if _is_run(months) else join(names)


def _in_years(years: tuple[int, ...]) -> str:
    names = f"{years[0]} to {years[-1]}" if _is_run(years) else join([str(y) for y in years])
    return f"in {names}"


def _is_run(values: tuple[int, ...]) -> bool:
    """Whether the values follow each other, so that their ends say it all."""
    return len(values) > 2 and values[-1] - values[0] == len(values) - 1


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 11 <= number <= 13 else endings.get(number % 10, 'th')}"
