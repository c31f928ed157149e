"""The wake-ups of the protocol: what sends one, what does not, and that nobody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import monotonic
from typing import Any

import psycopg
import pytest

from cronledger import JobSpec, enqueue_once
from cronledger.adapters.postgres.chunks import PostgresSplits
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.ledger import PostgresLedger
from cronledger.adapters.postgres.wakeups import PostgresWakeUps
from cronledger.core.audit import By
from cronledger.core.chunks import Chunk, ChunkWork, FollowUp
from cronledger.core.lifecycle import Failure
from cronledger.errors import StoreError
from workbench import SessionFor, Workbench

BY = By("mia", "somebody asked for it")
WORK = JobSpec("work")
HOUR = timedelta(hours=1)
PATIENCE = 20.0
INTERVAL = 0.025  # between two wake-ups of a queue
LISTEN = "select cronledger.listen(%s, %s)"


@pytest.fixture
def bench(any_database: str, session_for: SessionFor) -> Workbench:
    return Workbench(any_database, session_for)


class Ear:
    """A session that listens, and what it heard."""

    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)

    def listen(self, *queues: str) -> list[str]:
        """The channels that are new."""
        asked = [list(queues), self.connection.info.backend_pid]
        return [row[0] for row in self.connection.execute(LISTEN, asked)]

    def heard(self, patience: float = PATIENCE) -> str | None:
        """The channel of the next wake-up."""
        for found in self.connection.notifies(timeout=patience, stop_after=1):
            assert found.payload == ""
            return found.channel
        return None

    def silent(self) -> bool:
        """Whether nothing came before a notification that is sent now."""
        self.connection.execute("listen mark")
        self.connection.execute("notify mark")
        return self.heard() == "mark"


@pytest.fixture
def ear(bench: Workbench) -> Iterator[Ear]:
    ear = Ear(bench.dsn)
    yield ear
    ear.connection.close()


def rested(bench: Workbench) -> None:
    """As if the last wake-up had been long ago."""
    for slot in range(16):
        bench.rows(f"select setval('cronledger.wake_sent_{slot}', 1)")


def waiting(bench: Workbench) -> int:
    return bench.enqueue()[0]


def leased(bench: Workbench) -> int:
    (id_,) = bench.enqueue()
    bench.claim()
    return id_


def retrying(bench: Workbench) -> int:
    (id_,) = bench.enqueue()
    assert bench.queue.fail(bench.claim()[0], Failure("Boom", "", retry_after=HOUR)) == "retrying"
    return id_


def dead(bench: Workbench) -> int:
    (id_,) = bench.enqueue()
    assert bench.queue.fail(bench.claim()[0], Failure("Boom", "", retryable=False)) == "dead"
    return id_


def paused(bench: Workbench) -> int:
    PostgresControls(bench.session).pause("default", None, BY)
    return bench.enqueue()[0]


def produce(bench: Workbench, in_future: bool = False) -> None:
    with psycopg.connect(bench.dsn) as connection:
        (now,) = connection.execute("select now()").fetchone() or ()
        enqueue_once(connection, "k", WORK, now + HOUR if in_future else None)


def hand_back(bench: Workbench, id_: int) -> None:
    (row,) = bench.rows("select token from cronledger.lease where job_id = %(id)s", id=id_)
    bench.rows("select cronledger.release(array[%(id)s]::bigint[], array[%(t)s]::bigint[])",
               id=id_, t=row["token"])  # fmt: skip


def splitting(bench: Workbench) -> int:
    return bench.enqueue("split")[0]


def split(bench: Workbench, _: int) -> None:
    (lease,) = bench.claim(1, "a", "split")
    PostgresSplits(bench.session).split(lease, ChunkWork("work"), [Chunk("a")])


def finish_set(bench: Workbench, _: int) -> None:
    (lease,) = bench.claim(1, "a", "split")
    PostgresSplits(bench.session).seal(lease, FollowUp("work"))


def hands(bench: Workbench) -> PostgresControls:
    return PostgresControls(bench.session)


Act = Callable[[Workbench, int], Any]


@pytest.mark.parametrize(
    ("before", "act"),
    [
        (waiting, lambda bench, _: bench.enqueue()),
        (waiting, lambda bench, _: produce(bench)),
        (waiting, lambda bench, _: PostgresLedger(bench.session).enqueue_by_hand(1, "k", WORK)),
        (leased, hand_back),
        (leased, lambda bench, id_: hands(bench).take_back(id_, BY)),
        (retrying, lambda bench, id_: hands(bench).retry_now(id_, BY)),
        (dead, lambda bench, id_: hands(bench).replay(id_, None, BY)),
        (paused, lambda bench, _: hands(bench).resume("default", BY)),
        (splitting, split),
        (splitting, finish_set),
    ],
    ids=[
        *("occurrence", "once", "by_hand", "release", "take_back", "retry", "replay", "resume"),
        *("chunk", "follow_up"),
    ],
)
def test_whatever_makes_a_job_claimable_wakes_who_listens(
    bench: Workbench, ear: Ear, before: Callable[[Workbench], int], act: Act
) -> None:
    id_ = before(bench)
    (channel,) = ear.listen("default")
    rested(bench)
    act(bench, id_)
    assert ear.heard() == channel
    assert bench.claim() != []


@pytest.mark.parametrize(
    ("before", "act"),
    [
        (waiting, lambda bench, _: produce(bench, in_future=True)),
        (waiting, lambda bench, id_: hands(bench).cancel(id_, BY)),
        (waiting, lambda bench, _: hands(bench).pause("default", None, BY)),
        (dead, lambda bench, id_: hands(bench).discard(id_, BY)),
        (retrying, lambda bench, _: bench.claim()),
    ],
    ids=["in_future", "cancel", "pause", "discard", "claim"],
)
def test_what_makes_no_job_claimable_wakes_nobody(
    bench: Workbench, ear: Ear, before: Callable[[Workbench], int], act: Act
) -> None:
    id_ = before(bench)
    ear.listen("default")
    rested(bench)
    act(bench, id_)
    assert ear.silent()


def test_a_queue_wakes_only_who_listens_to_it(bench: Workbench, ear: Ear) -> None:
    bench.line("other")
    ear.listen("default")
    with psycopg.connect(bench.dsn, autocommit=True) as somebody:
        somebody.execute(LISTEN, [["other"], somebody.info.backend_pid])
        rested(bench)
        bench.enqueue(queue="other")
        assert ear.silent()
        assert len(list(somebody.notifies(timeout=PATIENCE, stop_after=1))) == 1


def test_a_key_that_is_known_wakes_nobody(bench: Workbench, ear: Ear) -> None:
    produce(bench)
    ear.listen()
    rested(bench)
    produce(bench)
    assert ear.silent()


def test_a_wake_up_comes_with_the_commit_and_not_without(bench: Workbench, ear: Ear) -> None:
    ear.listen()
    with psycopg.connect(bench.dsn) as connection:
        enqueue_once(connection, "k", WORK)
        assert ear.silent()
        connection.rollback()
    assert ear.silent()


def test_to_listen_again_says_only_what_is_new(bench: Workbench, ear: Ear) -> None:
    assert len(ear.listen("default")) == 1
    assert ear.listen("default") == []
    bench.line("later")
    assert len(ear.listen()) == 1
    assert ear.listen("default", "later", "nowhere") == []


def test_queues_beyond_the_sixteenth_share_a_channel_and_are_heard(
    bench: Workbench, ear: Ear
) -> None:
    for n in range(20):
        bench.line(f"q{n}")
    (channel,) = ear.listen("q19")
    rested(bench)
    bench.enqueue(queue="q19")
    assert ear.heard() == channel
    assert len(ear.listen()) == 15


def test_who_speaks_through_a_pooler_is_told_so_and_hears_nothing(bench: Workbench) -> None:
    with (
        psycopg.connect(bench.dsn, autocommit=True) as connection,
        pytest.raises(psycopg.errors.FeatureNotSupported, match="a pooler stands between"),
    ):
        connection.execute(LISTEN, [[], connection.info.backend_pid + 1])


def test_where_there_is_no_ledger_one_may_be_restored_yet(
    empty_database: str, session_for: SessionFor
) -> None:
    wakeups = PostgresWakeUps(session_for(empty_database))
    with pytest.raises(StoreError, match="has no ledger"):  # RefusedError would end the listener
        wakeups.listen([])
    wakeups.close()


def test_nothing_is_sent_to_nobody(bench: Workbench, ear: Ear) -> None:
    (channel,) = ear.listen("default")
    bench.rows(f"select setval('{channel.replace('_wake_', '.wake_until_')}', 1)")  # a minute later
    bench.enqueue()
    assert ear.silent()


def test_wake_ups_can_be_switched_off_for_a_transaction_of_two_phases(
    bench: Workbench, ear: Ear
) -> None:
    ear.listen()
    with psycopg.connect(bench.dsn) as connection:
        connection.execute("set local cronledger.wake = off")
        enqueue_once(connection, "k", WORK)
    assert ear.silent()


def test_q052_a_producer_that_takes_its_time_holds_up_and_silences_no_other(
    bench: Workbench, ear: Ear
) -> None:
    (channel,) = ear.listen()
    with psycopg.connect(bench.dsn) as slow:
        enqueue_once(slow, "slow", WORK)  # its wake-up is due with its commit
        rested(bench)
        with psycopg.connect(bench.dsn) as other:
            other.execute("set local lock_timeout = '1s'")
            enqueue_once(other, "other", WORK)
        assert ear.heard() == channel


def test_q052_many_producers_wait_for_no_lock_and_send_few_wake_ups(
    bench: Workbench, ear: Ear
) -> None:
    def enqueue(producer: int) -> None:
        with psycopg.connect(bench.dsn, autocommit=True) as connection:
            connection.execute("set lock_timeout = '5s'")
            for n in range(25):
                enqueue_once(connection, f"{producer}-{n}", WORK)

    ear.listen()
    rested(bench)
    began = monotonic()
    with ThreadPoolExecutor(16) as producers:
        list(producers.map(enqueue, range(16)))
    intervals = (monotonic() - began) / INTERVAL
    assert bench.rows("select count(*) as n from cronledger.ready") == [{"n": 400}]
    ear.connection.execute("listen mark")
    ear.connection.execute("notify mark")
    heard = 0
    while ear.heard() != "mark":
        heard += 1
    # Two who look at once may both send; without the interval there would be one for each job.
    assert 1 <= heard <= min(2 * intervals + 2, 399)
