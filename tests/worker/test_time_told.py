"""How long handlers took, as their worker tells the ledger."""

from __future__ import annotations

import pytest

from crew import Crew
from cronledger.adapters.clock import SystemClock
from cronledger.worker import Discard, JobContext
from workbench import Workbench


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_handler_took_is_told_to_the_ledger(
    bench: Workbench, crew: Crew, fails: bool
) -> None:
    clock, took = SystemClock(), []

    def work(job: JobContext) -> None:
        began = clock.monotonic()
        assert sum(range(100_000))
        took.append((clock.monotonic() - began).total_seconds())
        if fails:
            raise Discard("no")

    async def also(job: JobContext) -> None:
        work(job)

    bench.enqueue(jobs=2)
    bench.enqueue("async")
    before = clock.monotonic()
    crew.make({"work": work, "async": also}).run_until_idle()
    elapsed = (clock.monotonic() - before).total_seconds()
    outcome = "dead" if fails else "completed"
    for metric, least in (("execution", sum(took)), ("claim_to_start", 0.0)):
        rows = bench.rows(
            "select labels, sum(n)::int as n, sum(total) / 1e6 as total from cronledger.stat_delta"
            " where metric = %(metric)s group by labels order by labels",
            metric=f"cronledger_job_{metric}_seconds",
        )
        tail = [outcome] if metric == "execution" else []
        assert [row["labels"] for row in rows] == [
            ["default", kind, *tail] for kind in ("async", "work")
        ]
        assert [row["n"] for row in rows] == [1, 2]
        # To the microsecond, three times.
        assert least - 3e-6 < float(sum(row["total"] for row in rows)) < 3 * elapsed


def test_a_handler_that_completes_its_job_itself_is_timed_until_then(
    bench: Workbench, crew: Crew
) -> None:
    def work(job: JobContext) -> None:
        with job.transaction() as connection:
            connection.execute("select 1")

    bench.enqueue()
    crew.make({"work": work}).run_until_idle()
    counted = bench.counted("cronledger_job_claim_to_start_seconds")
    assert counted == {("default", "work"): 1}
    assert bench.counted("cronledger_job_execution_seconds") == {
        ("default", "work", "completed"): 1
    }
