"""The queue beside bare tables, in one run: enqueue, drain by the protocol, drain by the worker.
And how long a job on an idle queue waits for its start.

python bench/jobs.py [--jobs N] [--database URL]

Without a URL on an embedded PostgreSQL, with fsync. Floors are what two bare tables cost: one
insert for an enqueue, one delete and one insert for a claim and a completion.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from cronledger import wiring
from cronledger.adapters.postgres.session import Session
from cronledger.worker.pool import Worker
from cronledger.worker.settings import Access, WorkerSettings

BATCH = 1000
CLAIM = 100
RUNS = 5
STARTS = 100
START_GAP = 0.4  # seconds between two jobs, so that the queue is idle again
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


def rate(jobs: int, call: Callable[[], object]) -> float:
    """Jobs per second of one call."""
    began = time.perf_counter()
    call()
    return jobs / (time.perf_counter() - began)


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


def starts(store: wiring.Store) -> list[float]:
    """Milliseconds from before the enqueue to the handler's first line, `STARTS` times, sorted."""
    began: dict[str, float] = {}
    ran: dict[str, float] = {}
    access = Access(store.queue(), store.queue(), store.effects(), store.wakeups())
    worker = Worker(
        WorkerSettings("bench"),
        {"work": lambda job: ran.setdefault(job.key, time.perf_counter()) and None},
        access,
        wiring.clock(),
        lambda _: None,
    )
    thread = threading.Thread(target=worker.run)
    thread.start()
    session = store.session()
    for n in range(STARTS):
        time.sleep(START_GAP)
        began[f"start-{n}"] = time.perf_counter()
        session.script(ENQUEUE, {"keys": [f"start-{n}"], "n": 1})
    time.sleep(2)
    worker.stop()
    thread.join()
    return sorted((ran[key] - at) * 1000 for key, at in began.items())


def drain_floor(session: Session) -> None:
    """One statement for each `CLAIM` rows."""
    while session.script(FLOOR_DRAIN, {"n": CLAIM}):
        pass


def measure(store: wiring.Store, jobs: int) -> dict[str, list[float]]:
    """Ours and the floor in turns, `RUNS` each; jobs per second."""
    session = store.session()
    found: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for run in range(RUNS):
        session.script(FLOOR)
        batches = keys(run, jobs)
        note("floor: insert", rate(jobs, partial(enqueue, session, FLOOR_ENQUEUE, batches)))
        note("enqueue, new keys", rate(jobs, partial(enqueue, session, ENQUEUE, batches)))
        note("enqueue, known keys", rate(jobs, partial(enqueue, session, ENQUEUE, batches)))
        note("floor: delete and insert", rate(jobs, partial(drain_floor, session)))
        note("claim and complete, protocol", rate(jobs, partial(drain_by_protocol, session)))
        enqueue(session, ENQUEUE, keys(run + RUNS, jobs))
        note("claim and complete, worker", rate(jobs, partial(drain_by_worker, store)))
        single = [[f"single-{run}-{n}"] for n in range(300)]
        note("enqueue, one at a time", rate(300, partial(enqueue, session, ENQUEUE, single)))
        drain_by_protocol(session)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--database", default="")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        if asked.database:
            store = wiring.Store(asked.database, "bench")
            store.migrate()
        else:
            store = wiring.embedded(Path(folder, "pg"), "bench")
        try:
            store.session().script(
                "insert into cronledger.queue (name) values ('default') on conflict do nothing"
            )
            print(f"{asked.jobs:,} jobs a run, {RUNS} runs, batches of {BATCH} and {CLAIM}; jobs/s")
            for name, rates in measure(store, asked.jobs).items():
                spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
                print(f"{name:<32} {statistics.median(rates):>10,.0f}   {spread}")
            waits = starts(store)
            found = [waits[STARTS // 2], waits[STARTS * 99 // 100 - 1], waits[-1]]
            said = ", ".join(f"{wait:.1f}" for wait in found)
            print(f"start on an idle queue, {STARTS} jobs: p50, p99, most {said} ms")
        finally:
            store.close()


if __name__ == "__main__":
    main()
