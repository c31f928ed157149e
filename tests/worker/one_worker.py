"""A worker process of the drills: `python one_worker.py DSN NAME`, until SIGTERM.

It says on stdout what it does, a line each; its handler waits for a line on stdin.
"""

from __future__ import annotations

import signal
import sys
from datetime import timedelta

import psycopg

from cronledger.adapters.clock import SystemClock
from cronledger.adapters.observe.logs import log_events
from cronledger.adapters.postgres.effects import PostgresEffects
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.worker import Handlers, JobContext
from cronledger.worker.pool import Worker
from cronledger.worker.settings import Access, WorkerSettings

app = Handlers()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@app.handler("work")
def work(job: JobContext) -> None:
    say(f"began {job.attempt}")
    sys.stdin.readline()
    say(f"ended {job.attempt}")


def main(dsn: str, name: str) -> None:
    settings = WorkerSettings(
        name,
        concurrency=1,
        poll=timedelta(milliseconds=50),
        rescue=timedelta(milliseconds=200),
    )
    queue, keeper_queue = (PostgresQueue(Session(dsn, name)) for _ in range(2))
    effects = PostgresEffects(Session(dsn, name), lambda: psycopg.connect(dsn))
    access = Access(queue, keeper_queue, effects)
    worker = Worker(settings, app, access, SystemClock(), log_events(name))
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
