"""The SQL functions and the law of transitions, driven by the same random sequences."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.session import Session
from cronledger.core.audit import By
from cronledger.core.lifecycle import Failure, JobState, Lease, Settlement
from cronledger.core.transitions import Act, Place, after, created
from cronledger.errors import RefusedError
from workbench import Workbench

BUDGET = 3
STEPS = 200
BY = By("mia", "a walk of the tests")
PLACES = """
    select job.id,
           (select count(*) from cronledger.ready r where r.job_id = job.id)
         + (select count(*) from cronledger.deferred d where d.job_id = job.id)
         + (select count(*) from cronledger.lease l where l.job_id = job.id)
         + (select count(*) from cronledger.outcome o where o.job_id = job.id) as places
      from cronledger.job
"""


class Walker:
    """One job, its law, and every lease that was ever had of it."""

    def __init__(self, bench: Workbench, draw: Random) -> None:
        self.bench, self.draw = bench, draw
        self.controls = PostgresControls(bench.session)
        (self.id,) = bench.enqueue(max_attempts=BUDGET)
        self.place = created(BUDGET, due=True)
        self.leases: list[Lease] = []

    def step(self) -> Act:
        act = self.draw.choice(list(Act))
        expected = after(self.place, act)
        done = self.does(act)
        if expected is None:
            assert not done, f"{act} was done to a job that is {self.place}"
        else:
            assert done, f"{act} was refused for a job that is {self.place}"
            self.place = expected
        assert self.stands() == self.place, f"after {act}"
        return act

    def does(self, act: Act) -> bool:
        """Whether the database did it."""
        match act:
            case Act.DUE:
                return self.becomes_due()
            case Act.CLAIM:
                return self.claims()
            case Act.EXPIRE:
                return self.expires()
            case Act.EXTEND | Act.COMPLETE | Act.FAIL | Act.GIVE_UP | Act.RELEASE:
                self.stale(act)
                return bool(self.leases) and self.settles(act, self.leases[-1])
            case _:
                return self.by_hand(act)

    def settles(self, act: Act, lease: Lease) -> bool:
        queue = self.bench.queue
        match act:
            case Act.EXTEND:
                return lease.token in queue.extend([lease])
            case Act.COMPLETE:
                return lease.token in queue.complete([lease])
            case Act.RELEASE:
                return lease.token in queue.release([lease])
            case _:
                failure = Failure("Boom", "it broke", retryable=act is Act.FAIL)
                return queue.fail(lease, failure) is not Settlement.STALE

    def stale(self, act: Act) -> None:
        """A superseded lease changes nothing, whatever it is used for."""
        for lease in self.leases[:-1][-2:]:
            assert not self.settles(act, lease)

    def claims(self) -> bool:
        found = self.bench.claim()
        assert all(lease.token > old.token for lease in found for old in self.leases)
        self.leases += found
        return bool(found)

    def becomes_due(self) -> bool:
        rows = self.bench.rows(
            "update cronledger.deferred set eligible_at = cronledger.now() returning 1"
        )
        return bool(rows) or self.place.state is JobState.ELIGIBLE

    def expires(self) -> bool:
        self.bench.rows(
            "update cronledger.lease set claimed_at = claimed_at - interval '1 day',"
            " expires_at = cronledger.now() returning 1"
        )
        return self.bench.queue.rescue(10) == 1

    def by_hand(self, act: Act) -> bool:
        controls: dict[Act, Callable[[], object]] = {
            Act.CANCEL: lambda: self.controls.cancel(self.id, BY),
            Act.RETRY_NOW: lambda: self.controls.retry_now(self.id, BY),
            Act.TAKE_BACK: lambda: self.controls.take_back(self.id, BY),
            Act.PROLONG: lambda: self.controls.prolong(self.id, timedelta(minutes=5), BY),
            Act.REPLAY: lambda: self.controls.replay(self.id, None, BY),
            Act.DISCARD: lambda: self.controls.discard(self.id, BY),
        }
        try:
            controls[act]()
        except RefusedError:
            return False
        return True

    def stands(self) -> Place:
        """What the database says of the job, in the words of the law."""
        job = self.bench.queue.job(self.id)
        assert job is not None
        (row,) = self.bench.rows(
            "select coalesce((select releases from cronledger.ready), (select releases from"
            " cronledger.deferred), (select releases from cronledger.lease)) as n"
        )
        releases = self.place.releases if row["n"] is None else row["n"]
        finished = job.state in {JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD}
        return Place(
            job.state,
            BUDGET,
            job.attempt,
            self.place.max_attempts if finished else self.max_attempts(),
            releases,
            job.cancel_requested_at is not None,
            job.discarded_at is not None,
        )

    def max_attempts(self) -> int:
        (row,) = self.bench.rows(
            "select coalesce((select max_attempts from cronledger.ready), (select max_attempts from"
            " cronledger.deferred), (select max_attempts from cronledger.lease)) as n"
        )
        return int(row["n"])


@pytest.mark.parametrize("seed", range(8))
def test_a_job_goes_where_the_law_says_and_nowhere_else(
    database: str, session_for: Callable[..., Session], seed: int
) -> None:
    draw, bench = Random(seed), Workbench(database, session_for)
    # A retry stays one until the walk says that it is due.
    bench.line("default", backoff_base=timedelta(hours=1), backoff_cap=timedelta(hours=2))
    walker = Walker(bench, draw)
    seen: set[tuple[JobState, Act]] = set()
    for _ in range(STEPS):
        before = walker.place.state
        seen.add((before, walker.step()))
        assert {row["places"] for row in bench.rows(PLACES)} == {1}
        if before in {JobState.COMPLETED, JobState.CANCELLED} and draw.random() < 0.5:
            walker = Walker(bench, draw)
    assert {state for state, _ in seen} >= {JobState.ELIGIBLE, JobState.LEASED, JobState.CANCELLED}
    audited = bench.rows("select detail from cronledger.audit")
    assert audited
    assert all({"before", "after", "job_id"} <= row["detail"].keys() for row in audited)


def test_every_pair_of_state_and_act_has_its_say() -> None:
    places = [Place(state, BUDGET, 1, BUDGET) for state in JobState]
    allowed = {(p.state, act) for p in places for act in Act if after(p, act) is not None}
    assert len(allowed) == 26
    assert {act for _, act in allowed} == set(Act)
