"""Expansion against the peers, in one run: occurrences per second, ratio, and agreement.

python bench/expand.py [--json] [--quick]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import parse
from cronledger.core.expand import instants
from cronledger.core.instants import Window, from_epoch
from cronledger.core.schedule import Timing
from peers import DAYS, PEERS, Find, Peer, oracle

RUNS = 5
DAY = 86400
ZONES = PinnedZones()
# Half of them move their clocks within the day of the mix.
MIX_ZONES = (
    "America/New_York", "America/Chicago", "America/Los_Angeles", "America/Sao_Paulo",
    "America/St_Johns", "Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Madrid",
    "Europe/Rome", "Europe/Warsaw", "Europe/Athens", "Europe/Helsinki", "Europe/Lisbon",
    "Asia/Tokyo", "Asia/Kolkata", "Asia/Shanghai", "Asia/Singapore", "Australia/Sydney", "UTC",
)  # fmt: skip


@dataclass(frozen=True)
class Work:
    """Crons with their zones over `[start, end)`, epochs."""

    name: str
    rows: tuple[tuple[str, str], ...]
    start: int
    end: int


@dataclass(frozen=True)
class Task:
    """A work, the sample that slow peers get, and the ratios to reach by package, else 1."""

    work: Work
    sample: Work
    goals: Mapping[str, float]
    seconds_max: float | None = None


@dataclass(frozen=True)
class Figure:
    """Occurrences per second of ours and of the peer; each agrees with the oracle or does not."""

    name: str
    ours: float
    peer: float
    peer_name: str
    ratio: float
    goal: float
    meets: bool
    agrees: bool
    peer_agrees: bool


def tasks(quick: bool) -> list[Task]:
    """What is measured; --quick makes it smaller, and the names say so."""
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    days, years, size = (30, 1, 1000) if quick else (365, 10, 10_000)
    often = _single("*/5", "*/5 * * * *", "America/New_York", start, days)
    less = _single("*/5", "*/5 * * * *", "America/New_York", start, min(days, 90))
    leap_days = 0 if years == 1 else 2
    nightly = _single("30 2", "30 2 * * *", "Europe/London", start, 365 * years + leap_days)
    return [
        Task(often, less, {"cronsim": 200, "croniter-rs": 8}),
        Task(nightly, nightly, {"cronsim": 40}),
        Task(_mix(size, 1), _mix(size, 20), {"cronsim": 50}, seconds_max=size / 20_000),
    ]


def _single(text: str, cron: str, zone: str, start: int, days: int) -> Work:
    return Work(f"{text} {zone}, {days} days", ((cron, zone),), start, start + days * DAY)


def _mix(size: int, every: int) -> Work:
    """The same schedules each time; of them one in `every`. Europe's clocks move that day."""
    draw = random.Random(20260329)
    rows = tuple((_cron(draw), draw.choice(MIX_ZONES)) for _ in range(size))[::every]
    start = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp())
    name = f"{size:,} mixed, 24 h" + (f" (1 in {every})" if every > 1 else "")
    return Work(name, rows, start, start + DAY)


def _cron(draw: random.Random) -> str:
    minute, hour = draw.randrange(60), draw.randrange(24)
    weekdays = ",".join(sorted(draw.sample(DAYS, 3), key=DAYS.index))
    kinds = {
        "* * * * *": 1,
        "*/5 * * * *": 7,
        f"{minute} * * * *": 30,
        f"{minute} {hour} * * *": 40,
        f"{minute} {hour} * * MON-FRI": 11,
        f"{minute} {hour} * * {weekdays}": 11,
    }
    return draw.choices(list(kinds), list(kinds.values()))[0]


def ours(cron: str, zone: str, start: int, end: int) -> list[int]:
    """Parse included, as for the peers; they have their zones loaded as well."""
    window = Window(from_epoch(start), from_epoch(end))
    return instants(Timing(parse(cron), zone), ZONES.load(zone), window)


def run(find: Find, work: Work) -> list[list[int]]:
    """The epochs of each row."""
    return [find(cron, zone, work.start, work.end) for cron, zone in work.rows]


@cache
def expected(work: Work) -> list[list[int]]:
    """What the oracle says of each row."""
    found: dict[tuple[str, str], list[int]] = {}
    for zone in sorted({zone for _, zone in work.rows}):
        crons = sorted({cron for cron, where in work.rows if where == zone})
        every = oracle(crons, zone, work.start, work.end)
        found |= {(cron, zone): epochs for cron, epochs in zip(crons, every, strict=True)}
    return [found[row] for row in work.rows]


def seconds(call: Callable[[], object]) -> float:
    """Of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def compare(task: Task, peer: Peer, find: Find) -> Figure:
    """The two in turns, on the same work, and what each found."""
    work = task.sample if peer.slow else task.work
    found, theirs = run(ours, work), run(find, work)
    turns = [(seconds(lambda: run(ours, work)), seconds(lambda: run(find, work)))
             for _ in range(RUNS)]  # fmt: skip
    count = sum(map(len, found))
    mine, other = (count / statistics.median(took) for took in zip(*turns, strict=True))
    goal = task.goals.get(peer.package, 1)
    agrees, right = found == expected(work), theirs == expected(work)
    return Figure(
        work.name, mine, other, peer.name, mine / other, goal, mine >= goal * other, agrees, right
    )


def limit(work: Work, seconds_max: float) -> Figure:
    """Ours on the whole of a work against a span of time."""
    found = run(ours, work)
    took = statistics.median(seconds(lambda: run(ours, work)) for _ in range(RUNS))
    count, ratio = sum(map(len, found)), seconds_max / took
    agrees = found == expected(work)
    name = f"limit of {seconds_max:g} s"
    return Figure(
        work.name, count / took, count / seconds_max, name, ratio, 1, ratio >= 1, agrees, True
    )


def loaded() -> tuple[list[tuple[Peer, Find]], list[str]]:
    """The peers that are installed, and the names of those that are not."""
    there: list[tuple[Peer, Find]] = []
    missing: list[str] = []
    for peer in PEERS:
        try:
            there.append((peer, peer.load()))
        except ImportError:
            missing.append(peer.package + peer.note)
    return there, missing


def show(figure: Figure) -> None:
    """One line of the table."""
    f = figure
    verdict = "meets" if f.meets else "MISSES"
    mine, theirs = ("right" if ok else "differs" for ok in (f.agrees, f.peer_agrees))
    print(
        f"{f.name:<36} {f.peer_name:<47} {f.ours:>12,.0f} {f.peer:>11,.0f} {f.ratio:>8.1f}  "
        f"{verdict:<6} {f.goal:>4g}  {mine:<7}  {theirs}"
    )


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    there, missing = loaded()
    figures: list[Figure] = []
    for task in tasks(options.quick):
        figures += [compare(task, peer, find) for peer, find in there]
        if task.seconds_max is not None:
            figures.append(limit(task.work, task.seconds_max))
    if options.json:
        rows = [asdict(figure) for figure in figures]
        print(json.dumps({"figures": rows, "not_installed": missing}, indent=2))
        return
    print(f"{'work':<36} {'peer':<47} {'ours/s':>12} {'peer/s':>11} {'ratio':>8}  "
          f"{'goal':<11}  {'ours':<7}  peer")  # fmt: skip
    for figure in figures:
        show(figure)
    for name in missing:
        print(f"not installed, not measured: {name}; pip install -e '.[bench]'")


if __name__ == "__main__":
    main()
