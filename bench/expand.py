"""Expansion against cronsim, in one run: occurrences per second, ratio, and agreement.

python bench/expand.py [--json] [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim

from cronledger.adapters.zones import PinnedZones
from cronledger.core.cron import parse
from cronledger.core.expand import instants
from cronledger.core.instants import Window, to_epoch
from cronledger.core.schedule import Timing

RUNS = 5
ZONES = PinnedZones()


@dataclass(frozen=True)
class Work:
    """One expression in one zone, over a span, and the ratio to reach."""

    name: str
    cron: str
    zone: str
    span: timedelta
    goal: float


@dataclass(frozen=True)
class Figure:
    """One comparison: occurrences per second of ours and of the peer."""

    name: str
    ours: float
    peer: float
    peer_name: str
    ratio: float
    goal: float
    meets: bool
    agrees: bool


def works(quick: bool) -> list[Work]:
    """What is measured; --quick shortens the spans, and the names say so."""
    days, years = (30, 1) if quick else (365, 10)
    return [
        Work(f"*/5 New York, {days} days", "*/5 * * * *", "America/New_York",
             timedelta(days=days), 200),
        Work(f"30 2 London, {years} years", "30 2 * * *", "Europe/London",
             timedelta(days=365 * years), 40),
    ]  # fmt: skip


def ours(work: Work, start: datetime) -> list[int]:
    """Parse included, as for the peer."""
    zone = ZONES.load(work.zone)
    return instants(Timing(parse(work.cron), work.zone), zone, Window(start, start + work.span))


def cronsim(work: Work, start: datetime) -> list[int]:
    """cronsim yields what follows, so it starts a second earlier."""
    end = start + work.span
    begin = (start - timedelta(seconds=1)).astimezone(ZoneInfo(work.zone))
    return [to_epoch(t) for t in takewhile(lambda t: t < end, CronSim(work.cron, begin))]


def median_seconds(call: Callable[[], object]) -> float:
    """Of RUNS calls."""
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def measure(work: Work) -> Figure:
    """Both on the same work, and whether they found the same instants."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    found = ours(work, start)
    rate = len(found) / median_seconds(lambda: ours(work, start))
    peer = len(found) / median_seconds(lambda: cronsim(work, start))
    ratio = rate / peer
    agrees = found == cronsim(work, start)
    return Figure(
        work.name, rate, peer, "cronsim 2.8", ratio, work.goal, ratio >= work.goal, agrees
    )


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    figures = [measure(work) for work in works(options.quick)]
    if options.json:
        print(json.dumps({"figures": [asdict(figure) for figure in figures]}, indent=2))
        return
    for f in figures:
        verdict = "meets" if f.meets else "misses"
        agreement = "same instants" if f.agrees else "OTHER INSTANTS"
        print(
            f"{f.name:<28} ours {f.ours:>12,.0f}/s  {f.peer_name} {f.peer:>10,.0f}/s  "
            f"ratio {f.ratio:>7.1f} ({verdict} {f.goal:g})  {agreement}"
        )


if __name__ == "__main__":
    main()
