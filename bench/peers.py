"""Who is measured against: each peer as a function from cron, zone and span to epochs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module, metadata, resources
from itertools import takewhile
from zoneinfo import ZoneInfo

Find = Callable[[str, str, int, int], list[int]]

DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
MINUTE = timedelta(minutes=1)
# No zone of the works moves its clock by more.
FOLD_MAX = 3 * 3600


@dataclass(frozen=True, slots=True)
class Peer:
    """`load` raises ImportError where the peer is not installed; `slow` ones get a sample."""

    package: str
    note: str
    load: Callable[[], Find]
    slow: bool

    @property
    def name(self) -> str:
        return f"{self.package} {metadata.version(self.package)}{self.note}"


@cache
def pinned(name: str) -> ZoneInfo:
    """The zone from the tzdata wheel, whatever the machine has."""
    path = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    return ZoneInfo.from_file(io.BytesIO(path.read_bytes()), name)


def _before(start: int, zone: str) -> datetime:
    """A second earlier, as these peers yield what follows."""
    return datetime.fromtimestamp(start - 1, pinned(zone))


def _cronsim() -> Find:
    make = import_module("cronsim").CronSim

    def find(cron: str, zone: str, start: int, end: int) -> list[int]:
        epochs = (int(t.timestamp()) for t in make(cron, _before(start, zone)))
        return list(takewhile(lambda at: at < end, epochs))

    return find


def _croniter() -> Find:
    make = import_module("croniter").croniter

    def find(cron: str, zone: str, start: int, end: int) -> list[int]:
        epochs = make(cron, _before(start, zone)).all_next(float)
        return [int(at) for at in takewhile(lambda at: at < end, epochs)]

    return find


def _apscheduler() -> Find:
    make = import_module("apscheduler.triggers.cron").CronTrigger.from_crontab

    def find(cron: str, zone: str, start: int, end: int) -> list[int]:
        trigger, found = make(cron, timezone=pinned(zone)), []
        last, now = None, datetime.fromtimestamp(start, pinned(zone))
        while (last := trigger.get_next_fire_time(last, now)) is not None:
            if (at := int(last.timestamp())) >= end:
                break
            found.append(at)
            now = last
        return found

    return find


def _dateutil() -> Find:
    rules = import_module("dateutil.rrule")

    def find(cron: str, zone: str, start: int, end: int) -> list[int]:
        minutes, hours, days = fields(cron)
        rule = rules.rrule(
            rules.DAILY, dtstart=_wall(start, zone), byminute=sorted(minutes),
            byhour=sorted(hours), byweekday=sorted(days), bysecond=0,
        )  # fmt: skip
        return _localised(rule, zone, start, end)

    return find


def _croniter_rs() -> Find:
    make = import_module("croniter_rs").croniter

    def walls(cron: str, zone: str, start: int) -> Iterator[datetime]:
        last, size = _wall(start, zone) - timedelta(seconds=1), 32
        while True:
            batch = make(cron, last).get_next_n(size, datetime)
            yield from batch
            last, size = batch[-1], min(size * 2, 8192)

    def find(cron: str, zone: str, start: int, end: int) -> list[int]:
        return _localised(walls(cron, zone, start), zone, start, end)

    return find


def _croniter_rs_blind() -> Find:
    """Its batch of wall times taken for UTC: the fastest it has."""
    make = import_module("croniter_rs").croniter

    def find(cron: str, _zone: str, start: int, end: int) -> list[int]:
        last, size = float(start - 1), 32
        found: list[int] = []
        while last < end:
            begin = datetime.fromtimestamp(last, UTC).replace(tzinfo=None)
            batch = make(cron, begin).get_next_n(size, float)
            found += map(int, batch)
            last, size = batch[-1], min(size * 2, 8192)
        while found and found[-1] >= end:
            found.pop()
        return found

    return find


def _wall(epoch: int, zone: str) -> datetime:
    return datetime.fromtimestamp(epoch, pinned(zone)).replace(tzinfo=None)


def _localised(walls: Iterable[datetime], zone: str, start: int, end: int) -> list[int]:
    found, where = [], pinned(zone)
    for wall in walls:
        at = int(wall.replace(tzinfo=where).timestamp())
        if at >= end:
            break
        if at >= start:
            found.append(at)
    return found


PEERS = (
    Peer("cronsim", "", _cronsim, slow=True),
    Peer("croniter", "", _croniter, slow=True),
    Peer("APScheduler", "", _apscheduler, slow=True),
    Peer("python-dateutil", " (rrule on wall times)", _dateutil, slow=True),
    Peer("croniter-rs", " (batch, localised)", _croniter_rs, slow=False),
    Peer("croniter-rs", " (batch, blind to zones)", _croniter_rs_blind, slow=False),
)


def fields(cron: str) -> tuple[set[int], set[int], set[int]]:
    """Minutes, hours and weekdays (Monday is 0); the works use no other fields."""
    minute, hour, day, month, weekday = cron.split()
    assert (day, month) == ("*", "*")
    return _numbers(minute, 60), _numbers(hour, 24), _weekdays(weekday)


def _numbers(text: str, size: int) -> set[int]:
    if text.startswith("*"):
        return set(range(0, size, int(text[2:] or 1)))
    return {int(text)}


def _weekdays(text: str) -> set[int]:
    if text == "*":
        return set(range(7))
    if "-" in text:
        first, last = (DAYS.index(name) for name in text.split("-"))
        return set(range(first, last + 1))
    return {DAYS.index(name) for name in text.split(",")}


def oracle(crons: list[str], zone: str, start: int, end: int) -> list[list[int]]:
    """What each cron owes under the preset `cron`: every minute is looked at, none computed."""
    where = pinned(zone)
    asked = [fields(cron) for cron in crons]
    steady = [cron.startswith("*") or cron.split()[1].startswith("*") for cron in crons]
    landed: list[set[int]] = [set() for _ in crons]
    before: datetime | None = None
    for epoch in range(start - FOLD_MAX, end, 60):
        shown = datetime.fromtimestamp(epoch, where)
        wall = shown.replace(tzinfo=None, fold=0)
        skipped = _between(before, wall)
        before = wall
        again = shown.fold == 1
        for n, want in enumerate(asked):
            if _asks(want, wall) and (steady[n] or not again):
                landed[n].add(epoch)
            if skipped and not steady[n] and any(_asks(want, gone) for gone in skipped):
                landed[n].add(epoch)
    return [sorted(at for at in found if at >= start) for found in landed]


def _between(before: datetime | None, wall: datetime) -> list[datetime]:
    """The wall times that the clock jumped over."""
    if before is None or wall - before <= MINUTE:
        return []
    return [before + n * MINUTE for n in range(1, (wall - before) // MINUTE)]


def _asks(want: tuple[set[int], set[int], set[int]], wall: datetime) -> bool:
    return wall.minute in want[0] and wall.hour in want[1] and wall.weekday() in want[2]
