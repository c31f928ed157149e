"""Effects under receipts, and rows that commit with the completion of their job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from crew import PATIENCE, Crew
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.effects import PostgresEffects
from cronledger.core.audit import By
from cronledger.core.events import Attempted
from cronledger.core.lifecycle import Lease, Settlement
from cronledger.core.receipts import Begun, Decision, fingerprint
from cronledger.worker import Cancelled, Discard, JobContext, Retry
from workbench import Workbench

SAME = fingerprint({"to": "a@example.org"})
HOUR = timedelta(hours=1)


@pytest.fixture
def effects(bench: Workbench) -> PostgresEffects:
    return PostgresEffects(bench.session, lambda: psycopg.connect(bench.dsn))


def leased(bench: Workbench, worker: str = "a") -> Lease:
    (lease,) = bench.claim(1, worker)
    return lease


def again(bench: Workbench, lease: Lease) -> Lease:
    """The next attempt, after the worker of this one died."""
    assert bench.another(timedelta(hours=2)).rescue(10) == 1
    bench.rows("update cronledger.deferred set eligible_at = cronledger.now() returning 1")
    following = leased(bench, "b")
    assert following.job_id == lease.job_id
    return following


# What the ledger decides


def test_the_first_attempt_runs_and_the_next_one_resumes_with_the_same_key(
    bench: Workbench, effects: PostgresEffects
) -> None:
    bench.enqueue()
    first = leased(bench)
    run = effects.begin(first, "email", SAME, None)
    resumed = effects.begin(again(bench, first), "email", SAME, None)
    assert (run.decision, resumed.decision) == (Decision.RUN, Decision.RESUME)
    assert run.idempotency_key == resumed.idempotency_key


def test_what_was_committed_is_done_for_every_later_attempt_and_replay(
    bench: Workbench, effects: PostgresEffects
) -> None:
    (id_,) = bench.enqueue(max_attempts=1)
    first = leased(bench)
    effects.begin(first, "email", SAME, None)
    assert effects.commit(first, "email", {"id": 7})
    assert bench.another(timedelta(hours=2)).rescue(10) == 1
    PostgresControls(bench.session).replay(id_, None, By("mia", "the mail was sent"))
    assert effects.begin(leased(bench), "email", SAME, None) == Begun(
        Decision.DONE, None, {"id": 7}
    )


def test_other_inputs_are_a_conflict_and_another_effect_is_none(
    bench: Workbench, effects: PostgresEffects
) -> None:
    bench.enqueue()
    first = leased(bench)
    effects.begin(first, "email", SAME, None)
    other = fingerprint({"to": "b@example.org"})
    assert effects.begin(first, "email", other, None).decision is Decision.CONFLICT
    assert effects.begin(first, "sms", other, None).decision is Decision.RUN


def test_past_the_window_of_the_provider_nobody_can_tell(
    bench: Workbench, effects: PostgresEffects
) -> None:
    bench.enqueue()
    first = leased(bench)
    key = effects.begin(first, "email", SAME, HOUR).idempotency_key
    bench.rows(
        "update cronledger.effect set started_at = started_at - interval '2 hours' returning 1"
    )
    second = again(bench, first)
    assert effects.begin(second, "email", SAME, HOUR).decision is Decision.IN_DOUBT
    bench.rows(
        "select cronledger.effect_resolve(%(scope)s, 'email', false, null, 'mia', 'it never left')",
        scope=second.key,
    )
    anew = effects.begin(second, "email", SAME, HOUR)
    assert (anew.decision, anew.idempotency_key == key) == (Decision.RUN, False)


def test_a_human_may_say_that_it_has_happened(bench: Workbench, effects: PostgresEffects) -> None:
    bench.enqueue()
    first = leased(bench)
    effects.begin(first, "email", SAME, HOUR)
    bench.rows(
        "select cronledger.effect_resolve(%(scope)s, 'email', true, '{\"id\": 9}', 'mia',"
        " 'the provider shows it')",
        scope=first.key,
    )
    assert effects.begin(first, "email", SAME, HOUR) == Begun(Decision.DONE, None, {"id": 9})
    assert [row["action"] for row in bench.rows("table cronledger.audit")] == ["resolve"]


def test_q152_a_superseded_attempt_neither_begins_nor_commits(
    bench: Workbench, effects: PostgresEffects
) -> None:
    bench.enqueue()
    first = leased(bench)
    effects.begin(first, "email", SAME, None)
    second = again(bench, first)
    assert effects.begin(second, "email", SAME, None).decision is Decision.RESUME
    assert not effects.commit(first, "email", {"id": 1})
    assert effects.begin(first, "sms", SAME, None).decision is Decision.LEASE_LOST
    assert effects.commit(second, "email", {"id": 2})
    (row,) = bench.rows("select result, attempt from cronledger.effect")
    assert tuple(row.values()) == ({"id": 2}, 2)


def test_the_fingerprint_is_of_what_the_inputs_say() -> None:
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})
    with pytest.raises(TypeError):
        fingerprint(object())


# What a handler writes


def run(crew: Crew, handler: Callable[[JobContext], Any], times: int = 1) -> None:
    crew.start(crew.make({"work": handler}))
    crew.seen.wait_for(Attempted, times)


def test_an_effect_happens_once_though_the_attempt_after_it_fails(
    bench: Workbench, crew: Crew
) -> None:
    bench.line(backoff_base=timedelta(milliseconds=1), backoff_cap=timedelta(milliseconds=2))
    sent, results = list[str](), list[Any]()

    def send(job: JobContext) -> None:
        with job.write_once("email", inputs={"to": "a"}, window=HOUR) as effect:
            if effect.should_run:
                sent.append(effect.key)
                effect.commit({"id": 7})
        results.append(effect.result)
        if job.attempt == 1:
            raise Retry(after=timedelta(0))

    ids = bench.enqueue()
    run(crew, send, 2)
    assert (len(sent), results) == (1, [{"id": 7}, {"id": 7}])
    assert bench.states(ids) == ["completed"]


def test_an_async_handler_has_receipts_too(bench: Workbench, crew: Crew) -> None:
    async def send(job: JobContext) -> None:
        async with job.write_once("email") as effect:
            await asyncio.sleep(0)
            effect.commit()

    ids = bench.enqueue()
    run(crew, send)
    assert bench.states(ids) == ["completed"]
    (row,) = bench.rows("select state from cronledger.effect")
    assert row["state"] == "committed"


def test_a_conflict_is_a_dead_letter_with_its_own_class(bench: Workbench, crew: Crew) -> None:
    def send(job: JobContext) -> None:
        with job.write_once("email", inputs=job.attempt) as effect:
            effect.commit()
        raise Retry(after=timedelta(0))

    (id_,) = bench.enqueue()
    run(crew, send, 2)
    job = bench.queue.job(id_)
    assert job is not None
    assert (job.state, job.error_class) == ("dead", "effect_conflict")
    assert issubclass(Discard, BaseException)


def test_an_effect_that_is_neither_committed_nor_failed_is_said_to_be(
    bench: Workbench, crew: Crew
) -> None:
    def forget(job: JobContext) -> None:
        with job.write_once("email"):
            pass

    ids = bench.enqueue(max_attempts=1)
    run(crew, forget)
    job = bench.queue.job(ids[0])
    assert job is not None
    assert "ended without commit()" in str(job.error)


def table(bench: Workbench) -> None:
    bench.rows("create table if not exists public.paid (key text); truncate public.paid")


def paid(bench: Workbench) -> int:
    (row,) = bench.rows("select count(*)::int as n from public.paid")
    return int(row["n"])


def pay(job: JobContext) -> None:
    with job.transaction() as connection:
        connection.execute("insert into public.paid values (%s)", (job.key,))


def test_rows_of_a_handler_commit_with_the_completion(bench: Workbench, crew: Crew) -> None:
    table(bench)
    ids = bench.enqueue()
    run(crew, pay)
    assert (paid(bench), bench.states(ids)) == (1, ["completed"])
    assert crew.seen.attempts() == [(1, Settlement.COMPLETED, None)]


def test_rows_of_a_handler_that_fails_are_gone_and_the_job_is_tried_again(
    bench: Workbench, crew: Crew
) -> None:
    table(bench)

    def fail(job: JobContext) -> None:
        with job.transaction() as connection:
            connection.execute("insert into public.paid values (%s)", (job.key,))
            raise Retry(after=timedelta(hours=1))

    ids = bench.enqueue()
    run(crew, fail)
    assert (paid(bench), bench.states(ids)) == (0, ["retrying"])


def test_what_fails_after_the_commit_does_not_undo_it(bench: Workbench, crew: Crew) -> None:
    table(bench)

    def late(job: JobContext) -> None:
        pay(job)
        raise LookupError("too late to matter")

    ids = bench.enqueue()
    run(crew, late)
    assert (paid(bench), bench.states(ids)) == (1, ["completed"])


def test_rows_of_a_superseded_attempt_are_refused(bench: Workbench, crew: Crew) -> None:
    table(bench)
    caught = list[BaseException]()

    def lose(job: JobContext) -> None:
        PostgresControls(bench.session).take_back(job.job_id, By("mia", "it hangs, I think"))
        try:
            pay(job)
        except Cancelled as cancelled:
            caught.append(cancelled)
            raise

    bench.enqueue()
    worker = crew.make({"work": lose})
    thread = crew.start(worker)
    crew.seen.wait_for(Attempted)
    worker.stop()
    thread.join(PATIENCE)
    assert len(caught) >= 1
    assert paid(bench) == 0
