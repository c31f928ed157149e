"""Handlers of the drill with traces: one that fails first, one that is traced and enqueues."""

from __future__ import annotations

import os
from datetime import timedelta

import psycopg
from opentelemetry import trace

from cronledger import Handlers, JobContext, JobSpec, Retry, enqueue_once

app = Handlers()


@app.handler("fragile")
async def fragile(job: JobContext) -> None:
    if job.attempt == 1:
        raise Retry(timedelta(0), "canary-message")


@app.handler("parent")
def parent(job: JobContext) -> None:
    theirs = trace.get_tracer("theirs").start_as_current_span("their own work")
    with theirs, psycopg.connect(os.environ["DRILL_DSN"]) as connection:
        enqueue_once(connection, "child-1", JobSpec("child"))


@app.handler("child")
def child(job: JobContext) -> None:
    """Does nothing."""
