"""Handlers of the worker of test_live_prometheus."""

from __future__ import annotations

from cronledger import Handlers, JobContext

app = Handlers()


@app.handler("k")
def work(job: JobContext) -> None:
    """One in seven attempts fails once, so that retries are there to be seen."""
    if job.attempt == 1 and job.job_id % 7 == 0:
        raise RuntimeError("fails once")
