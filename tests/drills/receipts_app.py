"""Handlers of the drill with receipts: an effect at a provider, and rows of our own.

The provider is a table that takes each idempotency key once and counts every call.
"""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta

import psycopg

from cronledger import Handlers, JobContext

app = Handlers()


def provider(idempotency_key: str, job_key: str) -> None:
    """Does an effect once for each key, however often it is asked."""
    with psycopg.connect(os.environ["DRILL_DSN"], autocommit=True) as connection:
        connection.execute("insert into public.calls values (%s)", (job_key,))
        connection.execute(
            "insert into public.effects values (%s, %s) on conflict do nothing",
            (idempotency_key, job_key),
        )


@app.handler("outside")
def outside(job: JobContext) -> None:
    with job.write_once("pay", inputs={"key": job.key}, window=timedelta(hours=24)) as effect:
        if effect.should_run:
            provider(effect.key, job.key)
            effect.commit({"paid": job.key})


@app.handler("inside")
def inside(job: JobContext) -> None:
    with job.transaction() as connection:
        connection.execute("insert into public.paid values (%s)", (job.key,))


@app.handler("dies-after-commit")
def dies_after_commit(job: JobContext) -> None:
    """The first attempt commits its effect and dies before anyone hears of it."""
    with job.write_once("pay") as effect:
        if effect.should_run:
            provider(effect.key, job.key)
            effect.commit({"paid": job.key})
    if job.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@app.handler("sleeps-before-commit")
def sleeps_before_commit(job: JobContext) -> None:
    """The first attempt stands still between its effect and the commit."""
    with job.write_once("pay") as effect:
        if effect.should_run:
            provider(effect.key, job.key)
            if job.attempt == 1:
                os.kill(os.getpid(), signal.SIGSTOP)
                # The stop reaches this thread a moment after the call has returned.
                threading.Event().wait(0.5)
            effect.commit({"paid by attempt": job.attempt})
