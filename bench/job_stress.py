"""What slows a queue down: a transaction that is left open, and a million jobs that wait."""

from __future__ import annotations

import time

import psycopg

from cronledger import wiring
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session

BATCH = 100
PINNED_SECONDS = 60
PART_SECONDS = 10
MILLION = 1_000_000
FILL = """
    select count(*) from cronledger.enqueue_once('default', 'work',
      (select array_agg(%(run)s::text || '-' || n)
         from generate_series(%(at)s::int, %(at)s::int + %(n)s::int - 1) n),
      array_fill('{}'::jsonb, array[%(n)s::int]), array_fill(null::timestamptz, array[%(n)s::int]))
"""


class Flow:
    """Jobs that come and go, a hundred at a time, over a backlog that stays the same."""

    def __init__(self, session: Session, queue: PostgresQueue, run: str) -> None:
        self._session, self._queue, self._run = session, queue, run
        self._made = 0

    def enqueue(self, jobs: int, batch: int) -> None:
        """So many new ones."""
        for _ in range(0, jobs, batch):
            self._session.script(FILL, {"run": self._run, "at": self._made, "n": batch})
            self._made += batch

    def claim_and_complete(self, jobs: int) -> float:
        """Jobs per second, without new ones."""
        began = time.perf_counter()
        for _ in range(0, jobs, BATCH):
            self._queue.complete(self._queue.claim(["default"], ["work"], BATCH, "bench"))
        return jobs / (time.perf_counter() - began)

    def cycles(self, seconds: float) -> float:
        """Jobs per second that are enqueued, claimed and completed."""
        began, jobs = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            self.enqueue(BATCH, BATCH)
            self._queue.complete(self._queue.claim(["default"], ["work"], BATCH, "bench"))
            jobs += BATCH
        return jobs / (time.perf_counter() - began)


def stress(store: wiring.Store) -> None:
    """Both, printed."""
    session, queue = store.session(), PostgresQueue(store.session())
    flow = Flow(session, queue, "stress")
    flow.enqueue(5_000, 1_000)
    before = flow.cycles(PART_SECONDS)
    with psycopg.connect(store.dsn) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from cronledger.queue")
        flow.cycles(PINNED_SECONDS)
        after = flow.cycles(PART_SECONDS)
    print("\na transaction left open, enqueue, claim and complete, jobs/s")
    print(f"  before                   {before:>10,.0f}")
    print(f"  after {PINNED_SECONDS} s of it         {after:>10,.0f}   {after / before:6.2f}x")
    while leases := queue.claim(["default"], ["work"], 1_000, "bench"):
        queue.complete(leases)
    session.script("vacuum analyze cronledger.ready, cronledger.lease")
    flow.enqueue(20_000, 1_000)
    short = flow.claim_and_complete(15_000)
    flow.enqueue(MILLION, 10_000)
    session.script("vacuum analyze cronledger.ready, cronledger.lease")
    deep = flow.claim_and_complete(15_000)
    print("\nclaim and complete by the length of the queue, jobs/s")
    print(f"  20,000 jobs wait         {short:>10,.0f}")
    print(f"  a million wait           {deep:>10,.0f}   {deep / short:6.2f}x")
