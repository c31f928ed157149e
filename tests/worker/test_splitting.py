"""Handlers that split, through a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from crew import Crew
from cronledger import ChunkConflict, FollowUp
from cronledger.core.events import Attempted
from cronledger.core.lifecycle import Settlement
from cronledger.worker import JobContext
from cronledger.worker.chunks import BATCH
from workbench import Workbench


def keys(bench: Workbench, kind: str) -> list[str]:
    rows = bench.rows(
        "select key from cronledger.jobs where kind = %(kind)s order by id", kind=kind
    )
    return [row["key"] for row in rows]


def key_of(bench: Workbench, id_: int) -> str:
    job = bench.queue.job(id_)
    assert job is not None
    return job.key


def test_a_handler_splits_its_chunks_run_and_what_follows_comes_last(
    bench: Workbench, crew: Crew
) -> None:
    done = list[str]()

    def split(job: JobContext) -> None:
        with job.split("part", FollowUp("report", {"of": job.payload["year"]})) as chunks:
            for month in ("01", "02", "03"):
                chunks.add(month, {"month": month})
        assert chunks.added == 3

    def part(job: JobContext) -> None:
        done.append(job.payload["month"])

    def report(job: JobContext) -> None:
        done.append(f"report of {job.payload['of']}")

    (id_,) = bench.enqueue("split", payload={"year": 2026})
    crew.make({"split": split, "part": part, "report": report}, concurrency=1).run_until_idle()
    assert done == ["01", "02", "03", "report of 2026"]
    assert keys(bench, "part") == [f"{key_of(bench, id_)}#{month}" for month in ("01", "02", "03")]
    assert keys(bench, "report") == [f"{key_of(bench, id_)}#then"]


def test_an_attempt_that_fails_half_way_is_gone_on_with_from_its_last_chunk(
    bench: Workbench, crew: Crew
) -> None:
    pages = {0: 40, 40: 80, 80: 120, 120: 0}  # from which row to which, as a cursor goes
    seen = list[tuple[bool, str | None]]()
    fails: Iterator[bool] = iter([True, False])

    def split(job: JobContext) -> None:
        with job.split("part", then="report") as chunks:
            seen.append((chunks.sealed, chunks.last.name if chunks.last else None))
            at = chunks.last.payload["to"] if chunks.last else 0
            while following := pages[at]:
                chunks.add(f"from-{at}", {"from": at, "to": following})
                at = following
                if at == 80 and next(fails):
                    chunks.flush()
                    raise LookupError("the source is away")

    bench.line("default", backoff_base=timedelta(milliseconds=20))
    bench.enqueue("split")
    handlers = {"split": split, "part": lambda job: None, "report": lambda job: None}
    worker = crew.make(handlers, concurrency=1)
    crew.start(worker)
    crew.seen.wait_for(Attempted, 6)
    assert seen == [(False, None), (False, "from-40")]
    assert [key.rpartition("#")[2] for key in keys(bench, "part")] == [
        "from-0",
        "from-40",
        "from-80",
    ]
    assert len(keys(bench, "report")) == 1


def test_an_attempt_after_the_seal_sees_it_and_adds_nothing(bench: Workbench, crew: Crew) -> None:
    sealed = list[bool]()

    def split(job: JobContext) -> None:
        with job.split("part") as chunks:
            sealed.append(chunks.sealed)
            chunks.add("a")
        if job.attempt == 1:
            raise LookupError("after the seal")

    bench.line("default", backoff_base=timedelta(milliseconds=20))
    bench.enqueue("split")
    crew.start(crew.make({"split": split}))
    crew.seen.wait_for(Attempted, 2)
    assert (sealed, len(keys(bench, "part"))) == ([False, True], 1)


def test_more_than_a_batch_is_written_as_it_comes(bench: Workbench, crew: Crew) -> None:
    async def split(job: JobContext) -> None:
        async with job.split("part@2", then="report@3") as chunks:
            for n in range(BATCH + 1):
                chunks.add(str(n))
            assert chunks.added == BATCH

    bench.enqueue("split")
    crew.make({"split": split}).run_until_idle()
    (row,) = bench.rows(
        "select s.total, s.then_kind, s.then_schema_version, s.sealed_at is not null as sealed,"
        " (select count(*) from cronledger.jobs where kind = 'part' and schema_version = 2) as n"
        " from cronledger.chunk_set s"
    )
    assert tuple(row.values()) == (BATCH + 1, "report", 3, True, BATCH + 1)


def test_a_second_attempt_that_says_something_else_is_a_dead_letter(
    bench: Workbench, crew: Crew
) -> None:
    def split(job: JobContext) -> None:
        with job.split("part") as chunks:
            chunks.add("a", {"attempt": job.attempt})
        raise LookupError("once more")

    bench.line("default", backoff_base=timedelta(milliseconds=20))
    bench.enqueue("split")
    crew.start(crew.make({"split": split}))
    crew.seen.wait_for(Attempted, 2)
    assert crew.seen.attempts() == [
        (1, Settlement.RETRYING, "LookupError"),
        (2, Settlement.DEAD, "chunk_conflict"),
    ]


def test_a_handler_whose_lease_was_taken_adds_nothing_and_ends(
    bench: Workbench, crew: Crew
) -> None:
    def split(job: JobContext) -> None:
        with job.split("part") as chunks:
            chunks.add("a")
            bench.rows("select cronledger.take_back(%(id)s, 'mia', 'it hangs here')", id=job.job_id)
            bench.rows("select cronledger.cancel(%(id)s, 'mia', 'not again')", id=job.job_id)

    bench.enqueue("split")
    crew.make({"split": split}).run_until_idle()
    assert crew.seen.attempts() == [(1, Settlement.STALE, "lease_lost")]
    assert bench.rows("table cronledger.chunk_set") == []


def test_what_names_no_chunk_is_an_error_at_once(bench: Workbench, crew: Crew) -> None:
    said = list[str]()

    def split(job: JobContext) -> None:
        with job.split("part") as chunks:
            for name in ("", "then", "a#b", "x" * 201):
                with pytest.raises(ValueError, match="names no chunk") as error:
                    chunks.add(name)
                said.append(str(error.value))
            with pytest.raises(ValueError, match="run_at needs a zone"):
                chunks.add("a", run_at=datetime(2026, 8, 7, tzinfo=UTC).replace(tzinfo=None))
            chunks.add("twice", {"n": 1})
            with pytest.raises(ChunkConflict, match="means different work"):
                chunks.add("twice", {"n": 2})

    bench.enqueue("split")
    crew.make({"split": split}).run_until_idle()
    assert crew.seen.attempts() == [(1, Settlement.COMPLETED, None)]
    assert len(said) == 4
