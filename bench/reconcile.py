"""Reconcile ten million recorded keys, beside the floor and the two forms that come to mind first.

python bench/reconcile.py [--quick] [--json] [--runs N] [--database URL]

1,000 schedules by the hour, 1,000 keys planted as gaps and 1,000 as unexpected over all of them, in
an embedded PostgreSQL that is thrown away. The ledger grows backwards from 1 to 3 to 10 million, so
that the same window of a million is measured with more and more history outside of it. Each method
is a process of its own, timed from when it has read the file and is connected; floor and ours take
turns. --quick stops at one million.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from cronledger import wiring
from cronledger.core.instants import Window, from_epoch, to_epoch
from cronledger.flows.tick import note
from reconcile_data import HOURS, SCHEDULES, Planted, file_text, fill, plant
from reconcile_forms import METHODS, Asked, Ready, bounds

GOAL, MEMORY_GOAL, FLAT_GOAL = 2.0, 80.0, 1.5
FLOOR = """
    select count(*) from cronledger.schedule s, lateral (
      select o.logical_time from cronledger.occurrence o
       where o.schedule_id = s.id and o.logical_time >= %(start)s and o.logical_time < %(end)s
       order by o.logical_time) x
"""


@dataclass(frozen=True)
class Run:
    """One run of a method: seconds, seconds of its own processor, peak memory in MB, and what it
    found absent and unexpected."""

    seconds: float
    cpu: float
    memory: float
    absent: int
    unexpected: int


def child(method: str, asked: Asked) -> None:
    """Run a method in this process and print what it took."""
    ready = Ready.of(asked)
    wall, cpu = time.perf_counter(), time.process_time()
    absent, unexpected = METHODS[method](ready)
    spent = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([*spent, memory, absent, unexpected]))


def run(method: str, asked: Asked) -> Run:
    """A method in a process of its own."""
    start, end = to_epoch(asked.window.start), to_epoch(asked.window.end)
    words = [method, asked.dsn, str(asked.file), str(start), str(end)]
    done = subprocess.run(
        [sys.executable, __file__, "--child", *words], check=True, capture_output=True, text=True
    )
    return Run(*json.loads(done.stdout))


def floor(asked: Asked) -> float:
    """Seconds of the index-only scan of the same keys by one process of the server."""
    with psycopg.connect(asked.dsn, autocommit=True) as connection:
        connection.execute("set max_parallel_workers_per_gather = 0; set jit = off")
        began = time.perf_counter()
        connection.execute(FLOOR, bounds(asked.window))
        return time.perf_counter() - began


@dataclass(frozen=True)
class Figure:
    """A ratio against its goal; the smaller the better. `of_turns`: the median of the ratios of all
    turns, where others share the machine and its speed changes from turn to turn."""

    name: str
    ours: float
    peer: float
    peer_name: str
    goal: float
    of_turns: float | None = None

    def as_row(self) -> dict[str, object]:
        """As the other benchmarks print theirs."""
        ratio = self.of_turns or self.ours / self.peer
        return {
            "name": self.name, "ours": round(self.ours, 3), "peer": round(self.peer, 3),
            "peer_name": self.peer_name, "ratio": round(ratio, 2), "goal": self.goal,
            "meets": ratio <= self.goal,
        }  # fmt: skip


def compare(asked: Asked, keys: str, planted: Planted, runs: int) -> tuple[list[Run], list[float]]:
    """Floor and ours in turns; nothing may be overlooked."""
    wanted = planted.within(asked.window)
    found, floors = [], []
    for _ in range(runs):
        floors.append(floor(asked))
        found.append(run("ours", asked))
        assert (found[-1].absent, found[-1].unexpected) == wanted, (found[-1], wanted)
    say(f"floor, {keys}", Run(statistics.median(floors), 0, 0, 0, 0), floors)
    say(f"ours, {keys}", middle(found), [r.seconds for r in found])
    return found, floors


def middle(runs: list[Run]) -> Run:
    """The run of the median time, with the most memory of all."""
    ordered = sorted(runs, key=lambda run: run.seconds)
    return Run(*(
        ordered[len(runs) // 2].seconds, ordered[len(runs) // 2].cpu,
        max(run.memory for run in runs), runs[0].absent, runs[0].unexpected,
    ))  # fmt: skip


def say(name: str, run: Run, all_seconds: list[float]) -> None:
    """One line of the table, to stderr, so that --json stays alone on stdout."""
    spread = f"{min(all_seconds):.2f} to {max(all_seconds):.2f}"
    print(
        f"{name:<44} {run.seconds:7.2f} s  {spread:<14} {run.cpu:6.2f} cpu {run.memory:6.0f} MB"
        f"  {run.absent:>6} absent {run.unexpected:>6} unexpected",
        file=sys.stderr,
        flush=True,
    )


def measure(dsn: str, folder: Path, runs: int, *, quick: bool) -> list[Figure]:
    """Fill in steps, and measure each window that the ledger holds by then."""
    store, zones = wiring.Store(dsn, "bench"), wiring.zones()
    file = folder / "schedules.yaml"
    file.write_text(file_text(), encoding="utf-8")
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
    oldest = end - timedelta(hours=max(HOURS))
    loaded = wiring.load_file(file, zones)
    note(loaded, store.ledger(), zones, lambda _: None, oldest)
    planted = plant(random.Random(2026), end)
    steps = HOURS[:1] if quick else HOURS
    million: list[float] = []
    per_million: list[float] = []
    for held, before in zip(steps, (0, *steps), strict=False):
        span = Window(end - timedelta(hours=held), end - timedelta(hours=before))
        print(f"filling {SCHEDULES * held:,} keys", file=sys.stderr, flush=True)
        fill(store.session(), span, planted)
        for hours in (h for h in steps if h <= held):
            asked = Asked(dsn, Window(end - timedelta(hours=hours), end), file)
            keys = f"{hours * SCHEDULES / 1e6:g} M of {held * SCHEDULES / 1e6:g} M"
            found, floors = compare(asked, keys, planted, runs)
            median = statistics.median(r.seconds for r in found)
            if hours == HOURS[0]:
                million.append(median)
            if hours == held:
                per_million.append(median / hours)
    others = {name: run(name, asked) for name in METHODS if name != "ours"}
    for name, other in others.items():
        assert (other.absent, other.unexpected) == planted.within(asked.window), (name, other)
        say(f"{name}, {keys}", other, [other.seconds])
    best = middle(found)
    return [
        Figure(
            f"reconcile {keys}", best.seconds, statistics.median(floors), "floor", GOAL,
            statistics.median(r.seconds / f for r, f in zip(found, floors, strict=True)),
        ),
        Figure(f"peak memory, {keys}, MB", best.memory, MEMORY_GOAL, "80 MB", 1.0),
        Figure("1 M with all history outside", million[-1], million[0], "1 M alone", FLAT_GOAL),
        Figure("a key of the largest", per_million[-1], per_million[0], "of the smallest", 1.5),
        *(
            Figure(f"reconcile {keys}", best.seconds, others[name].seconds, name, 1.0)
            for name in ("NOT EXISTS", "Python sets")
        ),
    ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--database", default="")
    parser.add_argument("--child", nargs=5)
    options = parser.parse_args()
    if options.child:
        method, dsn, file, start, end = options.child
        window = Window(from_epoch(int(start)), from_epoch(int(end)))
        child(method, Asked(dsn, window, Path(file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if not options.quick and free < 8 * 2**30:
            raise SystemExit(f"8 GB are needed in {folder}, and {free / 2**30:.1f} are free")
        Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        if options.database:
            store = wiring.Store(options.database, "bench")
            store.migrate()
        else:
            store = wiring.embedded(Path(folder, "pg"), "bench")
        try:
            figures = measure(store.dsn, Path(folder), options.runs, quick=options.quick)
        finally:
            store.close()
    rows = [figure.as_row() for figure in figures]
    if options.json:
        print(json.dumps({"figures": rows}, indent=2))
        return
    for row in rows:
        met = "met" if row["meets"] else "MISSED"
        print(
            f"{row['name']:<40} {row['ratio']:>6} x {row['peer_name']} (goal {row['goal']}, {met})"
        )


if __name__ == "__main__":
    main()
