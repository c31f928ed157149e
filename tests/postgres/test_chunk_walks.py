"""Random walks of a set of chunks beside a model: what follows comes once, after all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from cronledger.adapters.postgres.chunks import PostgresChunkSets, PostgresSplits
from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.core.audit import By
from cronledger.core.chunks import Chunk, ChunkWork, FollowUp
from cronledger.core.lifecycle import Failure, Lease
from cronledger.errors import RefusedError
from workbench import WRONG_COPIES, SessionFor, Workbench

BY = By("mia", "a walk of the tests")
NAMES = [f"c{n}" for n in range(8)]
WALKS, STEPS = 40, 50


class Model:
    """What the set should be: where each chunk stands, whether it is sealed, what has followed."""

    def __init__(self) -> None:
        self.chunks: dict[str, str] = {}
        self.sealed = False
        self.followed = False

    def moved(self, name: str, state: str) -> None:
        self.chunks[name] = state
        self.settle()

    def settle(self) -> None:
        done = all(state == "completed" for state in self.chunks.values())
        self.followed = self.followed or (self.sealed and done)

    def state(self) -> str:
        if self.followed:
            return "completed"
        states = set(self.chunks.values())
        if not self.sealed or states & {"waiting", "leased"}:
            return "open"
        return "failed" if "dead" in states else "cancelled"

    def counts(self) -> tuple[int, int, int, int]:
        found = list(self.chunks.values())
        completed, dead, cancelled = map(found.count, ("completed", "dead", "cancelled"))
        return len(found), completed, dead, cancelled


class Walk:
    """The database and the model, one step at a time."""

    def __init__(self, bench: Workbench, draw: Random) -> None:
        self.bench, self.draw, self.model = bench, draw, Model()
        self.splits = PostgresSplits(bench.session)
        self.sets = PostgresChunkSets(bench.session)
        self.controls = PostgresControls(bench.session)
        (self.parent,) = bench.enqueue("split")
        (self.lease,) = bench.claim(1, "a", "split")
        self.leases: dict[str, Lease] = {}
        self.old: list[Lease] = []
        self.splits.split(self.lease, ChunkWork("part"), [])
        self.ids: dict[str, int] = {}
        self.acts: list[Callable[[], None]] = [
            self.split, self.seal, self.claim, self.claim, self.complete, self.complete, self.fail,
            self.give_up, self.release, self.expire, self.cancel, self.replay, self.discard,
            self.stale, self.parent_again,
        ]  # fmt: skip

    def step(self) -> None:
        self.draw.choice(self.acts)()
        self.agree()

    def one_of(self, *states: str) -> str | None:
        names = [n for n, state in self.model.chunks.items() if state in states]
        return self.draw.choice(names) if names else None

    def split(self) -> None:
        names = self.draw.sample(NAMES, self.draw.randint(1, 3))
        fresh = [n for n in names if n not in self.model.chunks]
        chunks = [Chunk(n, {"n": n}) for n in names]
        if fresh and self.model.sealed:
            with pytest.raises(RefusedError):
                self.splits.split(self.lease, ChunkWork("part"), chunks)
            return
        assert self.splits.split(self.lease, ChunkWork("part"), chunks) == len(fresh)
        self.model.chunks |= dict.fromkeys(fresh, "waiting")
        for name in fresh:
            self.ids[name] = self.sets.chunk_job(self.parent, name) or 0

    def seal(self) -> None:
        if self.model.sealed or self.draw.random() < 0.3:  # late, so that there is something to do
            assert self.splits.seal(self.lease, FollowUp("report"))
            self.model.sealed = True
            self.model.settle()

    def claim(self) -> None:
        found = self.bench.queue.claim(["default"], ["part"], 2, "w", alone=True)
        for lease in found:
            name = lease.payload["n"]
            assert self.model.chunks[name] == "waiting"
            self.leases[name] = lease
            self.model.moved(name, "leased")

    def complete(self) -> None:
        if name := self.one_of("leased"):
            assert self.bench.queue.complete([self.leases[name]])
            self.ended(name, "completed")

    def fail(self) -> None:
        if name := self.one_of("leased"):
            settled = self.bench.queue.fail(self.leases[name], Failure("Boom", "it broke"))
            self.ended(name, "waiting" if settled == "retrying" else settled)

    def give_up(self) -> None:
        if name := self.one_of("leased"):
            failure = Failure("Boom", "it broke", retryable=False)
            self.ended(name, self.bench.queue.fail(self.leases[name], failure))

    def release(self) -> None:
        if name := self.one_of("leased"):
            assert self.bench.queue.release([self.leases[name]])
            # Handed back to wait, unless somebody asked for its end.
            (job,) = self.bench.rows(
                "select state from cronledger.jobs where id = %(id)s", id=self.ids[name]
            )
            assert job["state"] in {"eligible", "cancelled"}
            self.ended(name, "cancelled" if job["state"] == "cancelled" else "waiting")

    def expire(self) -> None:
        self.bench.rows(
            "update cronledger.lease set claimed_at = claimed_at - interval '1 day',"
            " expires_at = cronledger.now() where kind = 'part' returning 1"
        )
        self.bench.queue.rescue(10)
        for name in [n for n, state in self.model.chunks.items() if state == "leased"]:
            (job,) = self.bench.rows(
                "select state from cronledger.jobs where id = %(id)s", id=self.ids[name]
            )
            waits = job["state"] in {"retrying", "eligible"}
            self.ended(name, "waiting" if waits else job["state"])

    def ended(self, name: str, state: str) -> None:
        self.old.append(self.leases.pop(name))
        self.model.moved(name, str(state))

    def cancel(self) -> None:
        if self.draw.random() < 0.15:
            waiting = [n for n, state in self.model.chunks.items() if state == "waiting"]
            assert self.sets.cancel_chunks(self.parent, BY) == len(waiting)
            for name in waiting:
                self.model.moved(name, "cancelled")
            return
        one = self.one_of("waiting", "leased", "cancelled") if self.draw.random() < 0.3 else None
        if one and self.controls.cancel(self.ids[one], BY) == "cancelled":
            self.model.moved(one, "cancelled")

    def replay(self) -> None:
        if name := self.one_of("dead"):
            self.controls.replay(self.ids[name], None, BY)
            self.model.moved(name, "waiting")

    def discard(self) -> None:
        if name := self.one_of("dead"):
            self.controls.discard(self.ids[name], BY)

    def stale(self) -> None:
        """What superseded attempts say changes nothing."""
        for lease in self.old[-3:]:
            assert not self.bench.queue.complete([lease])
            assert self.bench.queue.fail(lease, Failure("Boom", "late")) == "stale"

    def parent_again(self) -> None:
        """Another attempt of the job that splits."""
        before = self.lease
        self.controls.take_back(self.parent, BY)
        (self.lease,) = self.bench.claim(1, "b", "split")
        assert self.splits.split(before, ChunkWork("part"), [Chunk("late")]) is None
        assert not self.splits.seal(before, None)

    def to_the_end(self) -> None:
        """Bring everything that can be to completion."""
        self.splits.seal(self.lease, FollowUp("report"))
        self.model.sealed = True
        self.model.settle()
        while self.one_of("dead", "waiting", "leased"):
            for act in (self.replay, self.claim, self.complete):
                act()
                self.agree()

    def agree(self) -> None:
        found = self.sets.chunk_set(self.parent)
        assert (found.total, found.completed, found.dead, found.cancelled) == self.model.counts()
        assert found.state == self.model.state()
        followed = self.bench.rows(
            "select count(*)::int as n from cronledger.job where kind = 'report' and key = %(key)s",
            key=f"{self.lease.key}#then",
        )
        assert followed == [{"n": int(self.model.followed)}]
        assert self.bench.rows(WRONG_COPIES) == []


def test_what_follows_comes_when_all_is_completed_and_sealed_and_once(
    database: str, session_for: SessionFor
) -> None:
    bench = Workbench(database, session_for)
    soon = timedelta(microseconds=1)  # what retries is due at once
    bench.line("default", max_attempts=3, backoff_base=soon, backoff_cap=soon)
    seen, ends = set[str](), set[str]()
    for seed in range(WALKS):
        walk = Walk(bench, Random(seed))
        for _ in range(STEPS):
            walk.step()
            seen.add(walk.model.state())
        walk.to_the_end()
        ends.add(walk.model.state())
    assert seen == {"open", "failed", "cancelled", "completed"}
    assert ends == {"cancelled", "completed"}
