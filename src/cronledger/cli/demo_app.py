"""The handlers of the demo: what a user's own module looks like."""

from __future__ import annotations

from cronledger.worker.context import JobContext
from cronledger.worker.handlers import Handlers

app = Handlers()


@app.handler("heartbeat")
def heartbeat(job: JobContext) -> None:
    """A handler gets the key, the logical time and the payload of its job."""
    job.check()


@app.handler("prices")
async def prices(job: JobContext) -> None:
    """Async handlers share one event loop, apart from the lease."""
    job.check()


@app.handler("tides")
def tides(job: JobContext) -> None:
    """Runs once for each occurrence, whoever enqueued it: the tick or a backfill."""
    job.check()
