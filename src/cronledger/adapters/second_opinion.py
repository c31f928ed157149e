"""Where a scheduler built on croniter would run a schedule at another time than we do.

croniter is never asked what is owed. It is asked about the days around the clock changes of the
next two years and about one plain week, which is where it is known to differ.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

from cronledger.core.cron import Cron, Layout
from cronledger.core.expand import instants
from cronledger.core.findings import Finding, Severity
from cronledger.core.instants import Window, Zone, format_instant, from_epoch, to_epoch

if TYPE_CHECKING:
    from cronledger.core.schedule import Schedule, Timing

AHEAD: Final = timedelta(days=731)
_AROUND: Final = 2 * 86400
_WEEK: Final = 7 * 86400
# Times in one span; those of busier expressions are cut, to an hour around the change at least.
_SPAN_MAX: Final = 150
# It may read more into an expression than we do.
_FOUND_MAX: Final = 4 * _SPAN_MAX
# A step of croniter takes up to 0.15 ms, so that all of them take a few seconds.
STEPS_MAX: Final = 30_000
# A leap day comes again within eight years.
_YEARS_MAX: Final = 9
_BUILT_ON_IT: Final = "Airflow, Dagster, Procrastinate, PgQueuer"

ZoneOf = Callable[[str], Zone]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What croniter says about schedules. `unasked` names those beyond the limit of steps."""

    findings: tuple[Finding, ...]
    unasked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Difference:
    """`theirs` and `ours`: runs that only they have, that only we have, in the spans looked at."""

    theirs: list[int]
    ours: list[int]


class SecondOpinion:
    """Asks croniter, once for each expression and zone. `data` gives the TZif file of a zone."""

    def __init__(self, data: Callable[[str], bytes], steps_max: int = STEPS_MAX) -> None:
        self._data = data
        self._steps_left = steps_max
        self._clocks: dict[str, ZoneInfo] = {}

    def of(self, schedules: Mapping[str, Schedule], zone_of: ZoneOf, now: datetime) -> Opinion:
        """The differences of all schedules, in the order given, as far as the steps reach.

        The steps go first to those that run at few times of the day: each run of theirs counts.
        """
        readable = {
            schedule.id: (timing, cron)
            for schedule in schedules.values()
            for timing, cron in _readable(schedule.timing)
        }
        answers: dict[Timing, _Difference | None] = {}
        for timing, cron in sorted(dict(readable.values()).items(), key=_times_of_day):
            if self._steps_left > 0:
                answers[timing] = self._compare(timing, cron, zone_of(timing.timezone), now)
        findings = (
            _finding(name, found)
            for name, (timing, _) in readable.items()
            if (found := answers.get(timing)) is not None
        )
        unasked = (name for name, (timing, _) in readable.items() if timing not in answers)
        return Opinion(tuple(findings), tuple(unasked))

    def _compare(self, timing: Timing, cron: Cron, zone: Zone, now: datetime) -> _Difference | None:
        """Where the two differ; None if nowhere, or if croniter cannot read the expression."""
        theirs: set[int] = set()
        ours: set[int] = set()
        try:
            walk = croniter(
                cron.text,
                second_at_beginning=cron.layout is Layout.SECONDS,
                start_time=from_epoch(0),
                max_years_between_matches=_YEARS_MAX,
            )
            for start, end in _spans(timing, zone, to_epoch(now)):
                found = list(self._found(walk, timing.timezone, start, end))
                reached = end if len(found) < _FOUND_MAX else found[-1] + 1
                theirs.update(found)
                ours.update(instants(timing, zone, _window(start, reached)))
        except (CroniterError, ValueError):
            return None
        difference = _Difference(sorted(theirs - ours), sorted(ours - theirs))
        return difference if theirs != ours else None

    def _found(self, walk: croniter, zone: str, start: int, end: int) -> Iterator[int]:
        """What croniter yields in `[start, end)`; the first `_FOUND_MAX` of it."""
        if zone not in self._clocks:
            self._clocks[zone] = ZoneInfo.from_file(io.BytesIO(self._data(zone)), key=zone)
        walk.set_current(datetime.fromtimestamp(start - 1, self._clocks[zone]))
        for _ in range(_FOUND_MAX):
            self._steps_left -= 1
            at = int(walk.get_next(float))
            if at >= end:
                return
            yield at


def _readable(timing: Timing) -> Iterator[tuple[Timing, Cron]]:
    """The timing and its cron, if croniter may read it; bounds decide nothing about that."""
    cron = timing.trigger
    if isinstance(cron, Cron) and cron.layout in {Layout.FIVE, Layout.SECONDS}:
        yield replace(timing, start=None, end=None), cron


def _times_of_day(asked: tuple[Timing, Cron]) -> int:
    cron = asked[1]
    return len(cron.hours) * len(cron.minutes) * len(cron.seconds)


def _spans(timing: Timing, zone: Zone, now: int) -> Iterator[tuple[int, int]]:
    """Around each clock change of two years, and a week that begins at the next midnight UTC."""
    midnight = now - now % 86400 + 86400
    spans = [(midnight, midnight + _WEEK)]
    changes = [at for at in zone.transitions if now < at < now + AHEAD.total_seconds()]
    spans += [(at - _AROUND, at + _AROUND) for at in changes]
    for start, end in spans:
        middle, half = (start + end) // 2, (end - start) // 2
        while len(instants(timing, zone, _window(middle - half, middle + half))) > _SPAN_MAX:
            half //= 2
        yield middle - half, middle + half


def _window(start: int, end: int) -> Window:
    return Window(from_epoch(start), from_epoch(end))


def _finding(schedule: str, difference: _Difference) -> Finding:
    theirs, ours = difference.theirs, difference.ours
    first = min([*theirs, *ours])
    runs = "also run it" if first in theirs else "not run it"
    parts = ((theirs, "more"), (ours, "fewer"))
    counts = " and ".join(f"{len(times)} {what}" for times, what in parts if times)
    what = f"schedulers built on croniter ({_BUILT_ON_IT}) would {runs} at "
    what += f"{format_instant(from_epoch(first))} ({counts} in the days compared)"
    message = f"{what}; compare both when it moves from or to one of them"
    return Finding("second-opinion", Severity.HINT, message, schedule)
