"""Handlers of the drill with chunks: one splits in small steps, the others say that they ran."""

from __future__ import annotations

import os
from datetime import timedelta

import psycopg

from cronledger import Handlers, JobContext

app = Handlers()
CHUNKS = 300


def ran(job: JobContext) -> None:
    with job.transaction() as connection:
        connection.execute("insert into public.ran values (%s)", (job.key,))


@app.handler("split")
def split(job: JobContext) -> None:
    with job.split("part", then="report", max_attempts=100) as chunks:
        for n in range(CHUNKS):
            chunks.add(str(n), {"n": n})
    if job.attempt <= job.payload["deaths"]:
        with psycopg.connect(os.environ["DRILL_DSN"], autocommit=True) as connection:
            connection.execute("insert into public.splits values (%s)", (job.attempt,))
        job.wait(job.remaining())  # until somebody kills this process


@app.handler("part")
def part(job: JobContext) -> None:
    job.wait(timedelta(milliseconds=500))  # so that there is a middle to be killed in
    ran(job)


@app.handler("report")
def report(job: JobContext) -> None:
    ran(job)
