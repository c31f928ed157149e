"""The queue beside other queues and bare tables, in one run and in turns.

python bench/jobs.py [--jobs N] [--runs N] [--quick] [--database URL]

Without a URL on an embedded PostgreSQL, with fsync. Floors are what two bare tables cost: one
insert for an enqueue, one delete and one insert for a claim and a completion. Peers are those of
job_peers.py, as their users would run them. --quick leaves out the stress of job_stress.py.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from cronledger import wiring
from cronledger.adapters.postgres.session import Session
from cronledger.worker.context import JobContext
from cronledger.worker.pool import Worker
from cronledger.worker.settings import Access, WorkerSettings
from job_peers import Peer, peers
from job_stress import stress

BATCH = 1000
CLAIM = 500  # as the peers have it, or more where they gain by it
SINGLE = 300
OURS = "cronledger"
STARTS = 100
START_GAP = 0.4  # seconds between two jobs, so that the queue is idle again
Found = dict[str, dict[str, list[float]]]
# Of each work: what we must reach, as a multiple of the best peer, or of the best Python peer.
GOALS = {
    "enqueue, known keys": 1.8,
    "claim and complete": 1.0,
    "enqueue, one at a time": 1.0,
}
PYTHON_GOALS = {"enqueue, new keys": 1.0}
FLOOR = """
    create table if not exists public.floor (id bigint generated always as identity primary key,
                                             key text unique, payload jsonb);
    create table if not exists public.floor_done (id bigint primary key, at timestamptz);
    truncate public.floor, public.floor_done
"""
ENQUEUE = """
    select count(*) from cronledger.enqueue_once('default', 'work', %(keys)s::text[],
      array_fill('{}'::jsonb, array[%(n)s]), array_fill(null::timestamptz, array[%(n)s]))
"""
FLOOR_ENQUEUE = """
    insert into public.floor (key, payload) select k, '{}' from unnest(%(keys)s::text[]) k
    on conflict do nothing
"""
FLOOR_DRAIN = """
    with taken as (
      delete from public.floor where id = any (array(
        select id from public.floor order by id limit %(n)s for update skip locked)) returning id)
    insert into public.floor_done select id, now() from taken returning id
"""


def keys(run: int, jobs: int) -> list[list[str]]:
    """Batches of keys that no other run has."""
    return [[f"{run}-{n}" for n in range(at, at + BATCH)] for at in range(0, jobs, BATCH)]


def took(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def enqueue(session: Session, query: str, batches: list[list[str]]) -> None:
    """Each batch in a transaction of its own."""
    for batch in batches:
        session.script(query, {"keys": batch, "n": len(batch)})


def drain_by_protocol(session: Session) -> None:
    """Claim and complete, `CLAIM` at a time."""
    while True:
        rows = session.script(
            "select job_id, token from cronledger.claim('{}', array['work'], %(n)s, 'bench')",
            {"n": CLAIM},
        )
        if not rows:
            return
        ids, tokens = [row["job_id"] for row in rows], [row["token"] for row in rows]
        session.script(
            "select count(*) from cronledger.complete(%(ids)s::bigint[], %(tokens)s::bigint[])",
            {"ids": ids, "tokens": tokens},
        )


def drain_by_worker(store: wiring.Store) -> None:
    """Through the worker, with a handler that does nothing."""
    settings = WorkerSettings("bench", concurrency=CLAIM, rescue=timedelta(minutes=5))
    access = Access(store.queue(), store.queue(), store.effects())
    clock = wiring.clock()
    worker = Worker(settings, {"work": lambda _: None}, access, clock, lambda _: None)
    worker.run_until_idle()


def starts(store: wiring.Store, jobs: int) -> list[float]:
    """Milliseconds from before the enqueue to the handler's first line, sorted."""
    began: dict[str, float] = {}
    ran: dict[str, float] = {}
    all_ran = threading.Event()

    def work(job: JobContext) -> None:
        ran.setdefault(job.key, time.perf_counter())
        if len(ran) == jobs:
            all_ran.set()

    access = Access(store.queue(), store.queue(), store.effects(), store.wakeups())
    worker = Worker(
        WorkerSettings("bench"),
        {"work": work},
        access,
        wiring.clock(),
        lambda _: None,
    )
    thread = threading.Thread(target=worker.run)
    thread.start()
    session = store.session()
    for n in range(jobs):
        time.sleep(START_GAP)
        began[f"start-{n}"] = time.perf_counter()
        session.script(ENQUEUE, {"keys": [f"start-{n}"], "n": 1})
    if not all_ran.wait(60):
        raise SystemExit(f"{jobs - len(ran)} of {jobs} jobs were never started")
    worker.stop()
    thread.join()
    return sorted((ran[key] - at) * 1000 for key, at in began.items())


def drain_floor(session: Session) -> None:
    """One statement for each `CLAIM` rows."""
    while session.script(FLOOR_DRAIN, {"n": CLAIM}):
        pass


def measure(store: wiring.Store, peers: Sequence[Peer], jobs: int, runs: int) -> Found:
    """Everybody in turns, `runs` times; jobs per second by work and by who did it."""
    session = store.session()
    found: Found = {}

    def note(work: str, who: str, seconds: float | None, count: int = jobs) -> None:
        if seconds is not None:
            found.setdefault(work, {}).setdefault(who, []).append(count / seconds)

    for run in range(runs):
        session.script(FLOOR)
        batches = keys(run, jobs)
        note("enqueue, new keys", "floor", took(partial(enqueue, session, FLOOR_ENQUEUE, batches)))
        note("enqueue, new keys", OURS, took(partial(enqueue, session, ENQUEUE, batches)))
        note("enqueue, known keys", OURS, took(partial(enqueue, session, ENQUEUE, batches)))
        note("claim and complete", "floor", took(partial(drain_floor, session)))
        note("claim and complete", f"{OURS}, protocol", took(partial(drain_by_protocol, session)))
        enqueue(session, ENQUEUE, keys(run + runs, jobs))
        note("claim and complete", OURS, took(partial(drain_by_worker, store)))
        single = [[f"single-{run}-{n}"] for n in range(SINGLE)]
        note(
            "enqueue, one at a time", OURS, took(partial(enqueue, session, ENQUEUE, single)), SINGLE
        )
        drain_by_protocol(session)
        for peer in peers:
            note("enqueue, new keys", peer.name, peer.enqueue(batches))
            note("claim and complete", peer.name, peer.drain(jobs))
            note("enqueue, known keys", peer.name, peer.known(batches))
            note("enqueue, one at a time", peer.name, peer.enqueue(single), SINGLE)
            peer.drain(jobs)
    return found


def verdict(met: bool) -> str:
    """The goal of the figure before it."""
    return ", met" if met else ", MISSED"


def judged(work: str, ours: float, peers: Mapping[str, float]) -> str:
    """Ours over the best of the peers, and whether the goal is met."""
    best = max(peers.values())
    said = f"{ours / best:6.2f}x the best peer"
    if work in GOALS:
        return said + verdict(ours / best >= GOALS[work])
    python = max((rate for who, rate in peers.items() if "graphile" not in who), default=ours)
    said += f", {ours / python:.2f}x the best Python peer"
    return said + verdict(ours / python >= PYTHON_GOALS[work])


def show(found: Found) -> None:
    """A table for each work: medians, their spread, and ours over the best of the peers."""
    for work, by_whom in found.items():
        medians = {who: statistics.median(rates) for who, rates in by_whom.items()}
        peers = {w: m for w, m in medians.items() if "floor" not in w and OURS not in w}
        print(f"\n{work}, jobs/s")
        for who, median in sorted(medians.items(), key=lambda item: -item[1]):
            ratio = judged(work, median, peers) if who == OURS and peers else ""
            spread = f"{min(by_whom[who]):,.0f} to {max(by_whom[who]):,.0f}"
            print(f"  {who:<24} {median:>10,.0f}   {spread:<20} {ratio}")


def show_starts(store: wiring.Store, peers: Sequence[Peer], jobs: int) -> None:
    """From the enqueue to the handler, on a queue where nothing else happens."""
    print(f"\nstart on an idle queue, {jobs} jobs: p50, p99, most, in ms")
    waits = {OURS: starts(store, jobs)} | {p.name: sorted(p.starts(jobs, START_GAP)) for p in peers}
    said = {
        who: (found[jobs // 2], found[max(jobs * 99 // 100 - 1, 0)], found[-1])
        for who, found in waits.items()
    }
    for who, figures in said.items():
        print(f"  {who:<24} " + "  ".join(f"{wait:8.1f}" for wait in figures))
    others = [figures for who, figures in said.items() if who != OURS]
    if others:
        half, late = (said[OURS][at] / min(figures[at] for figures in others) for at in (0, 1))
        print(f"  p50 {half:.2f}x the best peer (goal 0.8){verdict(half <= 0.8)}", end="; ")
        print(f"p99 {late:.2f}x (goal 1){verdict(late <= 1)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--database", default="")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        if asked.database:
            store = wiring.Store(asked.database, "bench")
            store.migrate()
        else:
            store = wiring.embedded(Path(folder, "pg"), "bench")
        others: list[Peer] = []
        try:
            store.session().script(
                "insert into cronledger.queue (name) values ('default') on conflict do nothing"
            )
            others = peers(store.dsn)
            print(f"{asked.jobs:,} jobs, {asked.runs} runs in turns, batches of {BATCH}")
            show_starts(store, others, STARTS // 5 if asked.quick else STARTS)
            show(measure(store, others, asked.jobs, asked.runs))
            if not asked.quick:
                stress(store)
        finally:
            for peer in others:
                peer.close()
            store.close()


if __name__ == "__main__":
    main()
