"""What a large file costs: whole processes over 10,000 schedules, and a sidecar with nothing to do.

python bench/at_scale.py [--schedules N] [--idle-seconds N]
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cronledger import wiring
from cronledger.core.instants import to_epoch
from cronledger.core.schedule import ScheduleFile
from cronledger.daemon.board import Board
from cronledger.daemon.passes import Ticker, Tools
from cronledger.flows.tick import Moment, note, tick

PROGRAM = [sys.executable, "-m", "cronledger"]
DAY = ("--from", "2026-03-28T12:00:00Z", "--to", "2026-03-29T12:00:00Z")
ZONES = (
    "America/New_York", "America/Sao_Paulo", "Europe/London", "Europe/Berlin", "Asia/Tokyo",
    "Asia/Kolkata", "Australia/Sydney", "UTC",
)  # fmt: skip
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# A sidecar settles first: it notes its file, ticks, reconciles and renders once.
SETTLE = 20.0


@dataclass(frozen=True)
class Cost:
    """Of one process or pass: seconds on the wall and of the processor, peak memory in MB."""

    wall: float
    cpu: float
    memory: float = 0.0


def mixed(size: int) -> str:
    """A file of so many schedules, most of which run once or a few times a day."""
    draw = random.Random(20260328)
    lines = ["version: 1", "schedules:"]
    for number in range(size):
        minute, hour = draw.randrange(60), draw.randrange(24)
        often = draw.choices(("*/5 * * * *", f"{minute} * * * *"), (1, 4))[0]
        once = draw.choice((f"{minute} {hour} * * *", f"{minute} {hour} * * MON-FRI"))
        cron = often if draw.random() < 0.4 else once
        lines.append(f'  job-{number:05d}: {{cron: "{cron}", timezone: {draw.choice(ZONES)}}}')
    return "\n".join(lines) + "\n"


def process(*arguments: str) -> Cost:
    """A whole command, its output dropped."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run([*PROGRAM, *arguments], stdout=subprocess.DEVNULL, check=False)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode > 1:
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, after.ru_maxrss / 1024)


def passes(file: Path, store: wiring.Store) -> dict[str, Cost]:
    """Ticks over a ledger that has the file already."""
    zones = wiring.zones()
    loaded = wiring.load_file(file, zones)
    ledger = store.ledger()

    def sweep() -> None:
        tick(loaded.schedules, ledger, zones, lambda _: None, Moment(ledger.now()))

    found = {"note, first load": measured(lambda: _note(loaded, ledger, zones))}
    found["note, unchanged"] = measured(lambda: _note(loaded, ledger, zones))
    found["sweep, first"] = measured(sweep)
    # Of the next minute: in it nothing more falls due.
    time.sleep(61 - to_epoch(ledger.now()) % 60)
    sweep()
    found["sweep, nothing to do"] = measured(sweep)
    found["pass of the sidecar, nothing to do"] = _idle_pass(loaded, store)
    return found


def _idle_pass(loaded: ScheduleFile, store: wiring.Store) -> Cost:
    """What the sidecar does between two sweeps when nothing is due; its first pass sweeps."""
    zones, clock = wiring.zones(), wiring.clock()
    board = Board(loaded, "bench", zones.version, timedelta(minutes=1), clock.now())
    ticker = Ticker(board, Tools(store.ledger(), zones, lambda _: None, clock), replace=False)
    ticker.once()
    time.sleep(61 - clock.now().second)
    ticker.once()
    return measured(ticker.once)


def _note(loaded: object, ledger: object, zones: object) -> None:
    note(loaded, ledger, zones, lambda _: None)  # type: ignore[arg-type]


def measured(call: Callable[[], object]) -> Cost:
    """One call in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def idle(file: Path, database: str, store: wiring.Store, seconds: float) -> tuple[Cost, float]:
    """A sidecar that runs for so long, and how many transactions a second the database saw."""
    arguments = ["run", str(file), "--listen", "127.0.0.1:0", "--database", database, "--replace"]
    with subprocess.Popen([*PROGRAM, *arguments], stderr=subprocess.DEVNULL) as sidecar:
        time.sleep(SETTLE)
        before, cpu = _transactions(store), _cpu(sidecar.pid)
        time.sleep(seconds)
        spent = Cost(seconds, _cpu(sidecar.pid) - cpu, _memory(sidecar.pid))
        rate = (_transactions(store) - before) / seconds
        sidecar.send_signal(signal.SIGTERM)
    return spent, rate


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def _memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _transactions(store: wiring.Store) -> int:
    rows = store.session().script(
        "select xact_commit + xact_rollback as n from pg_stat_database"
        " where datname = current_database()"
    )
    return int(rows[0]["n"])


def show(name: str, cost: Cost, goal: str) -> None:
    """One line of the table."""
    memory = f"{cost.memory:8.0f}" if cost.memory else f"{'':8}"
    print(f"{name:<44} {cost.wall:8.2f} {cost.cpu:8.2f} {memory}  {goal}", flush=True)


def main() -> None:
    """Measure everything once and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--idle-seconds", type=float, default=120.0)
    asked = parser.parse_args()
    print(f"{'what':<44} {'wall s':>8} {'cpu s':>8} {'MB':>8}  goal")
    with tempfile.TemporaryDirectory() as folder:
        file, small = Path(folder, "many.yaml"), Path(folder, "thousand.yaml")
        file.write_text(mixed(asked.schedules), encoding="utf-8")
        small.write_text(mixed(1000), encoding="utf-8")
        size = f"{asked.schedules:,} schedules"
        show(f"check, {size}", process("check", str(file)), "under 20 s")
        show(f"expand 24 h, {size}", process("expand", str(file), *DAY), "under 5 s")
        Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        store = wiring.embedded(Path(folder, "pg"), "bench")
        try:
            for name, cost in passes(file, store).items():
                goal = "under 0.3 s of cpu" if name.startswith("pass") else ""
                show(f"{name}, {size}", cost, goal)
            spent, rate = idle(small, store.dsn, store, asked.idle_seconds)
            share = timedelta(seconds=spent.cpu) / timedelta(seconds=spent.wall)
            said = f"{share:.2%} of a core, {rate:.2f} transactions/s; at most 0.3 %, 90 MB, 1/s"
            show("sidecar idle, 1,000 schedules", spent, said)
        finally:
            store.close()


if __name__ == "__main__":
    main()
