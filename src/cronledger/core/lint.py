"""What in a schedule file is valid and yet rarely meant: every lint that needs no library.

Findings are about the next two years, or about the window of a policy; `now` is an argument.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from cronledger.core.clock_changes import LONG_GAP, Effect, Fate, effects, tell
from cronledger.core.cron import Cron
from cronledger.core.expand import instants, next_after
from cronledger.core.expected import expected
from cronledger.core.findings import AHEAD, Finding, Severity
from cronledger.core.instants import Window, Zone, format_duration, format_instant, from_epoch
from cronledger.core.lint_cron import lint_cron
from cronledger.core.schedule import Catchup, CatchupPolicy, Schedule, Timing
from cronledger.core.timeline import timeline, timings_from

# From so many in one minute on, they wait for each other rather than for the clock.
HERD: Final = 20
_DAY: Final = timedelta(days=1)
_NAMED: Final = 3
# How far ahead intervals between occurrences are looked at.
_SAMPLED: Final = 5

# The longest window that a file may give.
_WINDOW_MAX: Final = timedelta(days=400)

ZoneOf = Callable[[str], Zone]

# Names that keep one offset all year, and the places people mean by them.
_ABBREVIATIONS: Final = {
    "EST": "America/New_York",
    "MST": "America/Denver",
    "HST": "Pacific/Honolulu",
}


def lint(schedules: Mapping[str, Schedule], zone_of: ZoneOf, now: datetime) -> list[Finding]:
    """Every finding, schedule by schedule in the order given; about the file as a whole last."""
    by_timing: dict[Timing, list[Finding]] = {}
    found: list[Finding] = []
    for schedule in schedules.values():
        findings: dict[Finding, None] = {}
        for timing in timings_from(schedule, now):
            if timing not in by_timing:
                by_timing[timing] = list(_lint_timing(timing, zone_of(timing.timezone), now))
            # Once, what several versions share.
            findings |= dict.fromkeys(by_timing[timing])
        zone = zone_of(schedule.timing.timezone)
        findings |= dict.fromkeys(_lint_policies(schedule, zone, now))
        found += [replace(finding, schedule=schedule.id) for finding in findings]
    return found + list(_herd(schedules, zone_of, now))


def _lint_timing(timing: Timing, zone: Zone, now: datetime) -> Iterator[Finding]:
    window = Window(now, now + AHEAD)
    if isinstance(timing.trigger, Cron):
        start, end = window.epochs()
        changes = any(start < at < end for at in zone.transitions)
        yield from lint_cron(timing.trigger, timing, clock_changes=changes)
    yield from _clock_changes(list(effects(timing, zone, window)))
    yield from _fixed_offset(timing)


def _clock_changes(found: list[Effect]) -> Iterator[Finding]:
    """One finding for each thing that happens, with every date on which it does."""
    alike: dict[tuple[bool, Fate], list[Effect]] = defaultdict(list)
    for effect in found:
        alike[effect.length > 0, effect.fate].append(effect)
    for (gap, fate), (first, *more) in alike.items():
        again = [format_instant(from_epoch(effect.walls[0]))[:10] for effect in more]
        message = tell(first) + (f", and alike on {', '.join(again)}" if again else "")
        loses = fate in {Fate.SKIPPED, Fate.MERGED, Fate.TWICE}
        severity = Severity.WARNING if loses or first.length > LONG_GAP else Severity.HINT
        instead = f"write another time of day, or {_INSTEAD[fate]}"
        yield Finding("gap" if gap else "fold", severity, f"{message}; {instead}")


_INSTEAD: Final = {
    Fate.SKIPPED: "dst: {gap: next, wildcard: same} to run it after the jump",
    Fate.MOVED: "dst: {gap: skip} to leave it out",
    Fate.MERGED: "dst: {gap: skip} to leave it out",
    Fate.FIRST: "dst: {fold: second} for the other one",
    Fate.SECOND: "dst: {fold: first} for the other one",
    Fate.TWICE: "dst: {fold: first, wildcard: same} to run it once",
}


def _fixed_offset(timing: Timing) -> Iterator[Finding]:
    name = timing.timezone
    if name in _ABBREVIATIONS:
        what = f"{name} keeps one offset all year, without summer time"
        message = f"{what}; write {_ABBREVIATIONS[name]}, or UTC"
    elif name.startswith(("Etc/GMT+", "Etc/GMT-")) and not name.endswith(("+0", "-0")):
        hours, side = name[8:], "behind" if "+" in name else "ahead of"
        what = f"{name} is {hours} hours {side} UTC all year, against what its sign suggests"
        message = f"{what}; write the place, such as Europe/Berlin"
    else:
        return
    yield Finding("fixed-offset-zone", Severity.WARNING, message, path=("timezone",))


def _lint_policies(schedule: Schedule, zone: Zone, now: datetime) -> Iterator[Finding]:
    if schedule.objective < schedule.grace:
        objective, grace = format_duration(schedule.objective), format_duration(schedule.grace)
        what = f"objective {objective} is over before grace {grace}, so a run that was never "
        message = f"{what}recorded is missed late; write a grace of at most {objective}"
        yield Finding("objective", Severity.WARNING, message, path=("objective",))
    if schedule.grace < schedule.deadline:
        grace, deadline = format_duration(schedule.grace), format_duration(schedule.deadline)
        what = (
            f"grace {grace} is shorter than deadline {deadline}, so a key enqueued as on time can "
        )
        message = f"{what}be missing or late; write a grace of at least {deadline}"
        yield Finding("grace", Severity.WARNING, message, path=("grace",))
    catchup = schedule.catchup
    if catchup.policy is not CatchupPolicy.NONE:
        yield from _catchup_window(schedule.timing, catchup, zone, now)
    if catchup.policy is CatchupPolicy.ALL:
        yield from _catchup_max(schedule.timing, catchup, zone, now)


def _catchup_window(
    timing: Timing, catchup: Catchup, zone: Zone, now: datetime
) -> Iterator[Finding]:
    # A clock change may shorten one interval, and is no reason to look further back.
    reach = catchup.window + timedelta(seconds=LONG_GAP)
    if _count(timing, zone, Window(now, now + reach), 1) > 1:
        return
    found = [o.instant for o in next_after(timing, zone, now, _SAMPLED)]
    intervals = [after - before for before, after in pairwise(found)]
    if not intervals or min(intervals) <= reach.total_seconds():
        return
    window = format_duration(catchup.window)
    interval = timedelta(seconds=min(intervals))
    what = f"catch-up looks back {window}, but {format_duration(interval)} lie between two runs, "
    what += f"so an outage that begins before a run and lasts {window} after it loses the run"
    instead = f"write catchup: {{window: {format_duration(min(interval, _WINDOW_MAX))}}}"
    message = f"{what}; {instead}, or policy: none if that is meant"
    yield Finding("catchup-window", Severity.HINT, message, path=("catchup", "window"))


def _catchup_max(timing: Timing, catchup: Catchup, zone: Zone, now: datetime) -> Iterator[Finding]:
    held = _count(timing, zone, Window(now, now + catchup.window), catchup.maximum)
    if held <= catchup.maximum:
        return
    window = format_duration(catchup.window)
    what = f"catch-up takes all, but {catchup.maximum} at most, while {window} hold more: after a "
    message = f"{what}long outage the rest is omitted; write a larger max or a shorter window"
    yield Finding("catchup-max", Severity.WARNING, message, path=("catchup", "max"))


def _count(timing: Timing, zone: Zone, window: Window, enough: int) -> int:
    """How many occurrences the window holds, counted until there are more than `enough`."""
    count, start, span = 0, window.start, _DAY
    while start < window.end and count <= enough:
        end = min(start + span, window.end)
        count += len(instants(timing, zone, Window(start, end)))
        start, span = end, span * 2
    return count


def _herd(schedules: Mapping[str, Schedule], zone_of: ZoneOf, now: datetime) -> Iterator[Finding]:
    """The one minute of the next day in which most schedules begin, if that is a herd."""
    if len(schedules) < HERD:
        return
    window = Window(now, now + _DAY)
    crowds: Counter[int] = Counter()
    cached: dict[object, set[int]] = {}
    for schedule in schedules.values():
        if _times(schedule) not in cached:
            found = expected(timeline(schedule), window, zone_of)
            cached[_times(schedule)] = {at // 60 for at in found}
        crowds.update(cached[_times(schedule)])
    minute, size = max(crowds.items(), key=lambda pair: (pair[1], -pair[0]), default=(0, 0))
    if size < HERD:
        return
    members = [s.id for s in schedules.values() if minute in cached[_times(s)]]
    names = ", ".join(members[:_NAMED])
    at = format_instant(from_epoch(minute * 60))
    what = f"{size} schedules begin in the same minute, at {at} ({names} and others)"
    message = f"{what}; move some of them by a few minutes"
    yield Finding("herd", Severity.HINT, message, members[0])


def _times(schedule: Schedule) -> object:
    return schedule.timing, schedule.versions
