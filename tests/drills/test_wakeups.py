"""Workers that are woken up: what starts at once, and what becomes of them without the wake-ups."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta

from commands import until
from crew import Crew
from cronledger.core.events import Attempted, Lifecycle, LoopFailed
from cronledger.worker.wakeups import WakeUps
from workbench import Workbench

# Whatever starts within the test's patience was not found by a poll.
NEVER = timedelta(hours=1)
KILL = (
    "select pg_terminate_backend(pid) from pg_stat_activity"
    " where application_name = 'listener under test' and datname = current_database()"
)


class Held:
    """Real wake-ups whose first `listen` waits until the test lets it go on."""

    def __init__(self, wakeups: WakeUps) -> None:
        self._wakeups = wakeups
        self.go_on = threading.Event()

    def listen(self, queues: Sequence[str]) -> bool:
        assert self.go_on.wait(20)
        return self._wakeups.listen(queues)

    def wait(self, patience: timedelta) -> bool:
        return self._wakeups.wait(patience)

    def end(self) -> None:
        self._wakeups.end()

    def close(self) -> None:
        self._wakeups.close()


def listens(crew: Crew, times: int = 1) -> None:
    """Wait until a listener has said so that often."""

    def said() -> int:
        return sum(
            isinstance(e, Lifecycle) and e.what == "worker_listens" for e in crew.seen.events
        )

    until(lambda: said() >= times, f"listens {times} times")


def idle(bench: Workbench) -> bool:
    """Whether no worker is at a statement."""
    return not bench.rows(
        "select from pg_stat_activity where application_name = 'worker under test'"
        " and datname = current_database() and state <> 'idle'"
    )


def test_a_worker_that_polls_once_an_hour_starts_what_is_enqueued_later(
    bench: Workbench, crew: Crew
) -> None:
    crew.start(crew.make({"work": lambda job: None}, poll=NEVER, wakeups=crew.wakeups()))
    listens(crew)
    for count in range(1, 6):
        bench.enqueue()
        crew.seen.wait_for(Attempted, count)


def test_a_pass_that_takes_back_leases_swallows_no_wake_up(bench: Workbench, crew: Crew) -> None:
    always = timedelta(0)
    worker = crew.make(
        {"work": lambda job: None}, poll=NEVER, rescue=always, wakeups=crew.wakeups()
    )
    crew.start(worker)
    listens(crew)
    bench.enqueue()
    crew.seen.wait_for(Attempted)


def test_q051_a_listener_that_is_killed_comes_back_and_takes_nothing_with_it(
    bench: Workbench, crew: Crew
) -> None:
    crew.start(crew.make({"work": lambda job: None}, poll=NEVER, wakeups=crew.wakeups()))
    for times in (1, 2, 3):
        listens(crew, times)
        assert len(bench.rows(KILL)) == 1
        bench.enqueue()
        crew.seen.wait_for(Attempted, times)  # heard of, or found when it listens again
    listens(crew, 4)
    lost = [event for event in crew.seen.events if isinstance(event, LoopFailed)]
    assert [(event.loop, event.delay < timedelta(seconds=1)) for event in lost] == [
        ("listener", True)
    ] * 3


def test_q051_polls_find_the_jobs_while_no_listener_can_come_back(
    bench: Workbench, crew: Crew
) -> None:
    crew.start(crew.make({"work": lambda job: None}, wakeups=crew.wakeups()))
    listens(crew)
    bench.rows("alter function cronledger.listen rename to gone")
    assert len(bench.rows(KILL)) == 1
    ids = bench.enqueue(jobs=3)
    crew.seen.wait_for(Attempted, 3)
    assert bench.states(ids) == ["completed"] * 3
    failed = crew.seen.wait_for(LoopFailed, 3)
    assert {event.loop for event in failed} == {"listener"}
    assert failed[1].delay < failed[2].delay
    bench.rows("alter function cronledger.gone rename to listen")
    listens(crew, 2)


def test_q054_what_comes_between_the_last_look_and_the_listening_is_not_missed(
    bench: Workbench, crew: Crew
) -> None:
    held = Held(crew.wakeups())
    calls: list[str] = []
    worker = crew.make(
        {"work": lambda job: None},
        before=calls.append,
        rescue=timedelta(seconds=1),
        poll=NEVER,
        wakeups=held,
    )
    crew.start(worker)
    until(lambda: calls == ["rescue", "claim"] and idle(bench), "its first look is over")
    (id_,) = bench.enqueue()  # told to nobody, for nobody listens
    held.go_on.set()
    crew.seen.wait_for(Attempted)
    assert bench.states([id_]) == ["completed"]


def test_a_worker_that_leaves_waits_for_no_wake_up(bench: Workbench, crew: Crew) -> None:
    worker = crew.make({"work": lambda job: None}, poll=NEVER, wakeups=crew.wakeups())
    thread = crew.start(worker)
    listens(crew)
    worker.stop()
    thread.join(20)
    assert not thread.is_alive()
    mine = [t for t in threading.enumerate() if t.name == "cronledger-listener"]
    assert mine == []
    assert bench.rows(KILL) == []


def test_many_threads_of_producers_leave_nothing_for_the_poll(bench: Workbench, crew: Crew) -> None:
    for _ in range(3):
        crew.start(crew.make({"work": lambda job: None}, poll=NEVER, wakeups=crew.wakeups()))
    listens(crew, 3)
    for _ in range(100):
        bench.enqueue()
    crew.seen.wait_for(Attempted, 100)


def test_a_worker_that_is_woken_in_vain_looks_ever_more_rarely(
    bench: Workbench, crew: Crew
) -> None:
    claims = 0

    def count(call: str) -> None:
        nonlocal claims
        claims += call == "claim"

    worker = crew.make({"work": lambda job: None}, before=count, poll=NEVER, wakeups=crew.wakeups())
    crew.start(worker)
    listens(crew)
    until(lambda: claims == 5, "it looks when it starts and when it listens")
    for _ in range(60):
        bench.rows("select setval('cronledger.wake_sent_1', 1)")
        bench.enqueue("theirs")
    assert claims < 5 + 30
