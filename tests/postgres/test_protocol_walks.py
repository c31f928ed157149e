"""Random walks through the protocol: wherever they go, each job is in exactly one place."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import timedelta

import pytest

from cronledger.core.lifecycle import Failure, Lease, Settlement
from workbench import WRONG_COPIES, SessionFor, Workbench

STEPS = 120
PLACES = """
select j.id, (select count(*) from cronledger.ready x where x.job_id = j.id)
           + (select count(*) from cronledger.deferred x where x.job_id = j.id)
           + (select count(*) from cronledger.lease x where x.job_id = j.id)
           + (select count(*) from cronledger.outcome x where x.job_id = j.id) as places
  from cronledger.job j
"""


class Walk:
    """Workers that do anything at any time, with current leases and with superseded ones."""

    def __init__(self, bench: Workbench, seed: int) -> None:
        self.bench = bench
        self.draw = random.Random(seed)
        self.later = timedelta(0)
        self.queue = bench.another(self.later)
        self.leases: list[Lease] = []
        self.tokens: dict[int, list[int]] = defaultdict(list)
        self.settled: set[int] = set()

    def step(self) -> None:
        moves = [self.enqueue, self.claim, self.claim, self.complete, self.fail, self.extend]
        self.draw.choice([*moves, self.rescue, self.wait])()

    def wait(self) -> None:
        """The database's clock goes on: within a lease, past it, past any back-off."""
        self.later += timedelta(seconds=self.draw.choice([20, 61, 7200]))
        self.queue = self.bench.another(self.later)

    def enqueue(self) -> None:
        self.bench.enqueue(jobs=self.draw.randint(1, 3), max_attempts=self.draw.randint(1, 3))

    def claim(self) -> None:
        found = self.queue.claim(["default"], ["work"], self.draw.randint(1, 3), "w")
        self.leases += found
        for lease in found:
            assert lease.job_id not in self.settled
            self.tokens[lease.job_id].append(lease.token)

    def complete(self) -> None:
        chosen = {lease.job_id: lease for lease in self.some()}
        for token in self.queue.complete(list(chosen.values())):
            (lease,) = (x for x in chosen.values() if x.token == token)
            self.end(lease)

    def fail(self) -> None:
        for lease in self.some()[:1]:
            failure = Failure("Boom", "it broke", retryable=self.draw.random() < 0.8)
            match self.queue.fail(lease, failure):
                case Settlement.DEAD:
                    self.end(lease)
                case Settlement.RETRYING:
                    assert self.is_newest(lease)
                case Settlement.STALE:
                    pass
                case other:
                    pytest.fail(f"a failure was settled as {other}")

    def extend(self) -> None:
        for token in self.queue.extend(list({x.job_id: x for x in self.some()}.values())):
            assert any(tokens[-1] == token for tokens in self.tokens.values())

    def rescue(self) -> None:
        self.queue.rescue(self.draw.randint(1, 4))

    def end(self, lease: Lease) -> None:
        assert self.is_newest(lease), "a superseded lease settled its job"
        assert lease.job_id not in self.settled, "a job ended twice"
        self.settled.add(lease.job_id)

    def is_newest(self, lease: Lease) -> bool:
        return self.tokens[lease.job_id][-1] == lease.token

    def some(self) -> list[Lease]:
        return self.draw.sample(self.leases, min(len(self.leases), self.draw.randint(0, 4)))


@pytest.mark.parametrize("seed", range(5))
def test_a_job_is_in_exactly_one_place_wherever_workers_go(
    database: str, session_for: SessionFor, seed: int
) -> None:
    walk = Walk(Workbench(database, session_for), seed)
    for _ in range(STEPS):
        walk.step()
        assert {row["places"] for row in walk.bench.rows(PLACES)} <= {1}
        assert walk.bench.rows(WRONG_COPIES) == []
    assert walk.settled, "the walk never ended a job"
    for tokens in walk.tokens.values():
        assert tokens == sorted(set(tokens)), "tokens rise with each claim"
    assert max(map(len, walk.tokens.values())) <= 3, "a job was claimed past its last attempt"
