"""Measure a ledger of ten million finished jobs, and be scraped, with ten thousand schedules.

python bench/scrape.py [--quick] [--json] [--runs N] [--database URL]

In an embedded PostgreSQL that is thrown away: 100,000 jobs wait, in ten queues and in every way in
which a job can. The ledger is measured over one million finished jobs, and again over ten million.
Before each reading a few jobs are claimed and completed, and the counters folded, as between two
passes of the sidecar. Then a sidecar runs over it in its default mode and is scraped. --quick stops
at one million.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from socket import socket

from cronledger import wiring
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.postgres.snapshot import PostgresMeasured
from cronledger.flows.tick import note
from scrape_data import (
    EVERY,
    KINDS,
    QUEUES,
    SCHEDULES,
    WAITING,
    file_text,
    finish,
    past_days,
    settle,
    wait,
)  # fmt: skip

SNAPSHOT_GOAL, FLAT_GOAL, SCRAPE_GOAL = 25.0, 1.5, 5.0
# Of 10,000 schedules every twenty minutes so many complete between two passes.
COMPLETED = 125
MILLION_JOBS = 1_000_000 // SCHEDULES * EVERY
ACCEPTS = {"text": "text/plain", "OpenMetrics": "application/openmetrics-text; version=1.0.0"}
PATIENCE = 180.0
# A sidecar first ticks, reconciles and renders; then it is scraped, with pauses in between.
SETTLE, PAUSE = 20.0, 0.1
COUNT_ACTIVE = """
    select (select count(*) from cronledger.ready) + (select count(*) from cronledger.deferred)
         + (select count(*) from cronledger.lease) + (select count(*) from cronledger.dead) as n
"""


@dataclass(frozen=True)
class Figure:
    """Milliseconds or a ratio against its goal, the smaller the better."""

    name: str
    ours: float
    peer: float
    peer_name: str
    goal: float = 1.0

    def as_row(self) -> dict[str, object]:
        """As the other benchmarks print theirs."""
        ratio = self.ours / self.peer
        return {
            "name": self.name, "ours": round(self.ours, 2), "peer": round(self.peer, 2),
            "peer_name": self.peer_name, "ratio": round(ratio, 2), "goal": self.goal,
            "meets": ratio <= self.goal,
        }  # fmt: skip


def say(name: str, found: list[float]) -> float:
    """One line of the table, to stderr, so that --json stays alone on stdout; the median."""
    median = statistics.median(found)
    spread = f"{min(found):.1f} to {max(found):.1f}"
    print(f"{name:<52} {median:8.1f} ms  {spread}", file=sys.stderr, flush=True)
    return median


def readings(store: wiring.Store, finished: str, runs: int) -> float:
    """The median of whole readings, the first one apart."""
    session = store.session()
    measured, queue = PostgresMeasured(session), PostgresQueue(session)
    queues = [f"q{number}" for number in range(QUEUES)]
    kinds = [f"kind-{number}" for number in range(KINDS)]
    folds, found, ours, theirs = [], [], [], []
    pid = session.pid()
    for _ in range(runs + 1):
        queue.complete(queue.claim(queues, kinds, COMPLETED, "bench"))
        began = time.perf_counter()
        measured.fold_counters()
        folded, spent, server = time.perf_counter(), time.process_time(), _cpu(pid)
        read = measured.snapshot()
        found.append((time.perf_counter() - folded) * 1000)
        ours.append((time.process_time() - spent) * 1000)
        theirs.append(_cpu(pid) - server)
        folds.append((folded - began) * 1000)
    counted = sum(sum(of.jobs.values()) for of in read.queues)
    assert counted == session.script(COUNT_ACTIVE)[0]["n"] > 0.9 * WAITING
    assert len(read.schedules) == SCHEDULES
    assert all(of.last_recorded and of.oldest_unfinished for of in read.schedules)
    say(f"fold, {finished} finished", folds)
    say(f"first reading, {finished} finished", found[:1])
    say(f"  processor time of a reading, ours, {finished}", ours[1:])
    if any(theirs):
        say(f"  processor time of a reading, the server's, {finished}", theirs[1:])
    return say(f"reading, {finished} finished", found[1:])


def _cpu(pid: int) -> float:
    """Milliseconds that a process of this machine has run; 0 for one of another machine."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[0]) / 1e6
    except FileNotFoundError:
        return 0.0


def scrapes(file: Path, database: str, runs: int) -> dict[str, list[float]]:
    """Scrapes of a sidecar, by the form asked for, in turns; each on a connection of its own. They
    go on for longer than from one measurement to the next, so some meet one."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["run", str(file), "--listen", f"127.0.0.1:{port}", "--database", database]
    # One reconcile at the start and none while it is scraped.
    arguments += ["--reconcile-every", "1h", "--lookback", "1h"]
    program = [sys.executable, "-m", "cronledger", *arguments]
    found: dict[str, list[float]] = {}
    sizes: dict[str, float] = {}
    with subprocess.Popen(program, stderr=subprocess.DEVNULL) as sidecar:
        try:
            _await_ready(port)
            time.sleep(SETTLE)
            forms = list(product(ACCEPTS, ("gzip", "identity")))
            for number in range(runs * len(forms)):
                form, encoding = forms[number % len(forms)]
                spent, size = scrape(port, ACCEPTS[form], encoding)
                found.setdefault(f"{form}, {encoding}", []).append(spent)
                sizes[f"{form}, {encoding}"] = size / 1000
                time.sleep(PAUSE)
        finally:
            sidecar.send_signal(signal.SIGTERM)
    return {f"{name}, {sizes[name]:,.0f} kB": spent for name, spent in found.items()}


def _await_ready(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if request(port, "/-/ready", {})[0] == 200:
                return
        except ConnectionError:
            pass  # it does not listen yet
        time.sleep(0.5)
    raise SystemExit(f"the sidecar was not ready within {PATIENCE:g} s")


def scrape(port: int, accept: str, encoding: str) -> tuple[float, int]:
    """Milliseconds until the last byte was there, and how many there were."""
    began = time.perf_counter()
    status, body = request(port, "/metrics", {"Accept": accept, "Accept-Encoding": encoding})
    spent = (time.perf_counter() - began) * 1000
    assert status == 200, status
    return spent, len(body)


def request(port: int, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def fill(session: Session, start: datetime, end: datetime) -> None:
    """Finished jobs, and rest."""
    jobs = (end - start) // EVERY * SCHEDULES
    print(f"filling {jobs:,} finished jobs", file=sys.stderr, flush=True)
    finish(session, start, end)


def measure(store: wiring.Store, folder: Path, runs: int, *, quick: bool) -> list[Figure]:
    """Fill, measure, fill, measure, be scraped."""
    zones, session = wiring.zones(), store.session()
    file = folder / "schedules.yaml"
    file.write_text(file_text(), encoding="utf-8")
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    oldest, recent = end - 10 * MILLION_JOBS, end - MILLION_JOBS
    note(wiring.load_file(file, zones), store.ledger(), zones, lambda _: None, oldest)
    past_days(session, oldest, end)
    fill(session, recent, end)
    wait(session, end)
    settle(session)
    small = large = readings(store, "1 M", runs)
    figures = [Figure("snapshot, 1 M finished, ms", small, SNAPSHOT_GOAL, "25 ms")]
    if not quick:
        fill(session, oldest, recent)
        settle(session)
        large = readings(store, "10 M", runs)
        figures += [
            Figure("snapshot, 10 M finished, ms", large, SNAPSHOT_GOAL, "25 ms"),
            Figure("snapshot, 10 M finished, ms", large, small, "1 M finished", FLAT_GOAL),
        ]
    for form, found in scrapes(file, store.dsn, runs * 4).items():
        median = say(f"scrape, {form}", found)
        if "gzip" in form:  # as Prometheus asks; what is sent plain is there to be seen
            figures.append(Figure(f"scrape, {form}, ms", median, SCRAPE_GOAL, "5 ms"))
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--database", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if not options.quick and free < 12 * 2**30:
            raise SystemExit(f"12 GB are needed in {folder}, and {free / 2**30:.1f} are free")
        Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        if options.database:
            store = wiring.Store(options.database, "bench")
            store.migrate()
        else:
            store = wiring.embedded(Path(folder, "pg"), "bench")
        try:
            figures = measure(store, Path(folder), options.runs, quick=options.quick)
        finally:
            store.close()
    rows = [figure.as_row() for figure in figures]
    if options.json:
        print(json.dumps({"figures": rows}, indent=2))
        return
    for row in rows:
        met = "met" if row["meets"] else "MISSED"
        print(
            f"{row['name']:<46} {row['ours']:>8}  {row['ratio']:>6} x {row['peer_name']}"
            f" (goal {row['goal']}, {met})"
        )


if __name__ == "__main__":
    main()
