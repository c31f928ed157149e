"""`cronledger.testing` as its users use it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronledger import Discard, Handlers, JobContext, Retry
from cronledger.testing import Receipts, job_of, run_job

app = Handlers()


@app.handler("invoice")
def invoice(job: JobContext) -> None:
    if "customer" not in job.payload:
        raise Discard("no customer")
    with job.write_once("mail", inputs=job.payload) as effect:
        if effect.should_run:
            effect.commit({"to": job.payload["customer"], "for": str(job.logical_time)})
    if job.attempt == 1:
        raise Retry(timedelta(minutes=5), "not yet")


@app.handler("ping")
async def ping(job: JobContext) -> None:
    async with job.write_once("ping") as effect:
        effect.commit(job.attempt)


@app.handler("pay")
def pay(job: JobContext) -> None:
    with job.transaction() as connection:
        connection.append(job.key)


@app.handler("breaks")
def breaks(job: JobContext) -> None:
    raise LookupError(job.kind)


@app.handler("pages")
def pages(job: JobContext) -> None:
    with job.split("page", then="book") as chunks:
        first = int(chunks.last.name) + 1 if chunks.last else 1
        for number in range(first, job.payload["pages"] + 1):
            chunks.add(str(number), {"page": number})
            if number == 2 and job.attempt == 1:
                chunks.flush()
                raise Retry(None, "the source is away")


@app.handler("another")
def another(job: JobContext) -> None:
    with job.split("page", then=job.payload["then"]) as chunks:
        chunks.add("1", {"page": job.payload["page"]})


def test_how_a_handler_ends_is_told() -> None:
    first = run_job(app, "invoice", {"customer": 7})
    assert (first.outcome, first.reason) == ("retry", "not yet")
    assert first.retry_after == timedelta(minutes=5)
    discarded = run_job(app, "invoice", {})
    assert (discarded.outcome, discarded.reason) == ("discard", "no customer")


def test_attempts_of_one_job_share_their_receipts() -> None:
    receipts = Receipts()
    time = datetime(2026, 8, 7, tzinfo=UTC)
    for attempt in (1, 2):
        job = replace(job_of("invoice", attempt=attempt), logical_time=time)
        ran = run_job(app, "invoice", {"customer": 7}, job, receipts)
    assert ran.outcome == "completed"
    assert ran.effects == {"mail": {"to": 7, "for": "2026-08-07 00:00:00+00:00"}}
    assert run_job(app, "invoice", {"customer": 8}, None, receipts).outcome == "effect_conflict"


def test_async_handlers_run_too() -> None:
    assert run_job(app, "ping").effects == {"ping": 1}


def test_a_transaction_is_yours_to_give() -> None:
    rows: list[Any] = []
    run_job(app, "pay", receipts=Receipts(rows))
    assert rows == ["test:2026-01-01T00:00:00Z"]
    with pytest.raises(ValueError, match="give Receipts"):
        run_job(app, "pay")


def test_what_a_handler_raises_is_raised() -> None:
    with pytest.raises(LookupError, match="breaks"):
        run_job(app, "breaks")


def test_what_a_handler_splits_into_is_told() -> None:
    receipts = Receipts()
    first = run_job(app, "pages", {"pages": 3}, job_of("pages"), receipts)
    assert (first.outcome, list(first.chunks), first.then) == ("retry", ["1", "2"], None)
    second = run_job(app, "pages", {"pages": 3}, job_of("pages", attempt=2), receipts)
    assert (second.outcome, second.then) == ("completed", "book")
    assert second.chunks == {"1": {"page": 1}, "2": {"page": 2}, "3": {"page": 3}}


@pytest.mark.parametrize(
    "second",
    [{"page": 2, "then": "book"}, {"page": 1, "then": "report"}, {"page": 2, "then": None}],
)
def test_a_second_attempt_that_splits_otherwise_is_found(second: dict[str, Any]) -> None:
    receipts = Receipts()
    once: dict[str, Any] = {"page": 1, "then": "book"}
    for _ in range(2):
        assert run_job(app, "another", once, None, receipts).outcome == "completed"
    assert run_job(app, "another", second, None, receipts).outcome == "chunk_conflict"
    more = run_job(app, "pages", {"pages": 2}, job_of("pages", attempt=2), receipts)
    assert (more.outcome, more.reason) == (
        "chunk_conflict",
        "the chunks are sealed, so none can be added",
    )
