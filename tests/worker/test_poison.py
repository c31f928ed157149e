"""Handlers that raise what no one expects: a failure each, and the worker goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta

from crew import Crew
from cronledger.errors import StoreError
from cronledger.worker import JobContext, Retry
from workbench import Workbench


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def coroutine_of(job: JobContext) -> Coroutine[object, object, None]:
    async def never() -> None: ...

    return never()


def raising(error: BaseException) -> Callable[[JobContext], None]:
    def handler(job: JobContext) -> None:
        raise error

    return handler


def raising_async(error: BaseException) -> Callable[[JobContext], Coroutine[None, None, None]]:
    async def handler(job: JobContext) -> None:
        raise error

    return handler


POISONS: dict[str, tuple[Callable[[JobContext], object], str, str]] = {
    "plain": (raising(ValueError("bad")), "ValueError", "bad"),
    "ours": (raising(StoreError("gone")), "cronledger.errors.StoreError", "gone"),
    "exit": (raising(SystemExit(3)), "SystemExit", "3"),
    "interrupt": (raising(KeyboardInterrupt()), "KeyboardInterrupt", ""),
    "async exit": (raising_async(SystemExit(3)), "SystemExit", "3"),
    "async interrupt": (raising_async(KeyboardInterrupt()), "KeyboardInterrupt", ""),
    "nul": (raising(ValueError("a\x00b")), "ValueError", "a\\0b"),
    "surrogate": (raising(ValueError("a\ud800b")), "ValueError", "a\\ud800b"),
    "huge": (raising(ValueError("x" * 1_000_000)), "ValueError", "x" * 1900),
    "unprintable": (raising(UnprintableError()), "UnprintableError", "<a UnprintableError that"),
    "long name": (raising(type("E" * 500, (Exception,), {})()), "E" * 150, ""),
    "bad retry": (lambda job: Retry(timedelta(days=999)), "ValueError", "Retry(after=...) takes"),
    "coroutine": (coroutine_of, "TypeError", "a def handler returned an awaitable"),
}


def test_whatever_a_handler_raises_is_a_failure_with_a_bounded_name(
    bench: Workbench, crew: Crew
) -> None:
    for kind in POISONS:
        bench.enqueue(kind, max_attempts=1)
    good = bench.enqueue("good")
    handlers = {kind: handler for kind, (handler, _, _) in POISONS.items()}
    crew.make({**handlers, "good": lambda job: None}).run_until_idle()
    assert bench.states(good) == ["completed"]
    found = {
        row["kind"]: row
        for row in bench.rows("select kind, error_class, error from cronledger.dead")
    }
    assert set(found) == set(POISONS)
    for kind, (_, error_class, message) in POISONS.items():
        assert found[kind]["error_class"].endswith(error_class)
        assert found[kind]["error"].startswith(message)
        assert len(found[kind]["error_class"]) <= 200
        assert len(found[kind]["error"]) <= 2000


def test_a_loop_thread_survives_what_a_stray_task_raises(bench: Workbench, crew: Crew) -> None:
    stray: list[asyncio.Task[None]] = []

    async def leave_a_task(job: JobContext) -> None:
        async def fall() -> None:
            raise SystemExit(1)

        if job.attempt == 1 and not stray:
            stray.append(asyncio.get_running_loop().create_task(fall()))
        await asyncio.sleep(0.01)

    ids = bench.enqueue(jobs=3)
    crew.make({"work": leave_a_task}, concurrency=1).run_until_idle()
    assert bench.states(ids) == ["completed"] * 3
    assert stray[0].exception() is not None
