"""Workers on threads of the test's own process, and what they said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

import psycopg

from cronledger.adapters.clock import SystemClock
from cronledger.adapters.postgres.effects import PostgresEffects
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.adapters.postgres.wakeups import PostgresWakeUps
from cronledger.core.events import Attempted, Event, Lifecycle
from cronledger.core.lifecycle import UNTIMED, Failure, Lease, Settlement, Timing
from cronledger.ports import LeasedQueue, Observe
from cronledger.worker.handlers import Handler
from cronledger.worker.pool import Worker
from cronledger.worker.settings import Access, WorkerSettings
from cronledger.worker.wakeups import WakeUps

PATIENCE = 20.0
EventT = TypeVar("EventT")


class Seen:
    """A listener that a test can wait on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait_for(self, kind: type[EventT], count: int = 1) -> list[EventT]:
        """The first `count` events of that type; fails if they do not come."""
        with self._changed:
            found: list[EventT] = []

            def enough() -> bool:
                found[:] = [event for event in self.events if isinstance(event, kind)]
                return len(found) >= count

            assert self._changed.wait_for(enough, PATIENCE), f"only {self.events}"
            return found

    def told(self, what: str) -> str:
        """The detail of the first Lifecycle of that name; fails if it does not come."""
        with self._changed:
            found: list[str] = []

            def enough() -> bool:
                found[:] = [
                    e.detail for e in self.events if isinstance(e, Lifecycle) and e.what == what
                ]
                return bool(found)

            assert self._changed.wait_for(enough, PATIENCE), f"only {self.events}"
            return found[0]

    def attempts(self) -> list[tuple[int, Settlement, str | None]]:
        """Attempt number, settlement and error class of what ended, in order."""
        ended = [event for event in self.events if isinstance(event, Attempted)]
        return [(e.lease.attempt, e.settlement, e.error_class) for e in ended]


class Through:
    """A queue that does something of the test's before it passes a call on to the real one."""

    def __init__(self, queue: LeasedQueue, before: Callable[[str], None]) -> None:
        self._queue = queue
        self._before = before

    def claim(
        self,
        queues: Sequence[str],
        kinds: Sequence[str],
        limit: int,
        worker: str,
        *,
        alone: bool = False,
    ) -> list[Lease]:
        self._before("claim")
        return self._queue.claim(queues, kinds, limit, worker, alone=alone)

    def extend(self, leases: Sequence[Lease]) -> Mapping[int, bool]:
        self._before("extend")
        return self._queue.extend(leases)

    def complete(self, leases: Sequence[Lease], timings: Sequence[Timing] = ()) -> frozenset[int]:
        self._before("complete")
        return self._queue.complete(leases, timings)

    def fail(self, lease: Lease, failure: Failure, timing: Timing = UNTIMED) -> Settlement:
        self._before("fail")
        return self._queue.fail(lease, failure, timing)

    def release(self, leases: Sequence[Lease]) -> frozenset[int]:
        self._before("release")
        return self._queue.release(leases)

    def rescue(self, limit: int) -> int:
        self._before("rescue")
        return self._queue.rescue(limit)


def nothing(call: str) -> None:
    """What a test does before most calls."""


class Crew:
    """Workers of one database. Each is stopped, twice if need be, when the test ends."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._sessions: list[Session] = []
        self._threads: list[tuple[Worker, threading.Thread]] = []
        self.seen = Seen()

    def make(
        self,
        handlers: Mapping[str, Handler],
        *,
        before: Callable[[str], None] = nothing,
        before_keeper: Callable[[str], None] = nothing,
        observe: Observe | None = None,
        concurrency: int = 4,
        poll: timedelta = timedelta(milliseconds=50),
        rescue: timedelta = timedelta(milliseconds=200),
        wakeups: WakeUps | None = None,
    ) -> Worker:
        """A worker that is not running yet; without `wakeups` it only polls."""
        name = f"worker-{len(self._sessions)}"
        settings = WorkerSettings(name, ("default",), concurrency, poll, rescue)
        queue = Through(self._queue(), before)
        keeper_queue = Through(self._queue(), before_keeper)
        session = self._session()
        effects = PostgresEffects(session, lambda: psycopg.connect(self._dsn))
        access = Access(queue, keeper_queue, effects, wakeups)
        return Worker(settings, handlers, access, SystemClock(), observe or self.seen)

    def wakeups(self) -> PostgresWakeUps:
        """What wakes a worker up, on a connection of its own."""
        return PostgresWakeUps(self._session("listener under test"))

    def start(self, worker: Worker) -> threading.Thread:
        """Run it on a thread until it is stopped."""
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self._threads.append((worker, thread))
        return thread

    def dismiss(self) -> None:
        """Stop what still runs."""
        for worker, thread in self._threads:
            worker.stop()
            worker.stop()
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a worker did not stop"
        for session in self._sessions:
            session.close()

    def _queue(self) -> PostgresQueue:
        return PostgresQueue(self._session())

    def _session(self, name: str = "worker under test") -> Session:
        session = Session(self._dsn, name)
        self._sessions.append(session)
        return session
