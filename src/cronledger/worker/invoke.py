"""Runs one handler: `def` on a thread of its own, `async def` on one event loop thread.

The only module that knows asyncio. Nothing that a handler raises ends the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias, cast

from cronledger.core.events import Lifecycle
from cronledger.core.lifecycle import Failure, Lease
from cronledger.ports import Observe
from cronledger.worker.attempt import Attempt
from cronledger.worker.handlers import Handler, is_async
from cronledger.worker.place import place_of
from cronledger.worker.signals import Cancelled, Discard, Retry

ERROR_CLASS_MAX = 200
# What the queue keeps of a message: of a job that will be tried again, and of a dead one.
RETRYING_MESSAGE_MAX = 500
MESSAGE_MAX = 2000
STOP_SECONDS = 2.0

_Run: TypeAlias = Callable[[Attempt], Failure | None]
_Finish: TypeAlias = Callable[[Attempt, Failure | None], bool]


class Invoker:
    """Starts attempts; each ends by `Attempt.finish`, from whatever thread its handler ran on."""

    def __init__(self, handlers: Mapping[str, Handler], observe: Observe) -> None:
        self._handlers = dict(handlers)
        self._async_kinds = {kind for kind, handler in handlers.items() if is_async(handler)}
        self._threads = _Threads(self._run, self._finish)
        self._loop = _Loop()
        self._observe = observe
        # Changed on many threads, by single operations of the set; to be copied before it is read.
        self._running: set[Attempt] = set()

    def start(self, attempt: Attempt) -> None:
        """Begin; returns at once."""
        self._running.add(attempt)
        if attempt.lease.known_as in self._async_kinds:
            self._loop.start(attempt, self._run_async(attempt))
        else:
            self._threads.start(attempt)

    def stop(self) -> None:
        """End idle threads and the loop; a handler that hangs is left behind on its daemon."""
        self._threads.stop()
        self._loop.stop()

    def running(self) -> int:
        """How many handlers have not ended, whatever became of their attempts."""
        return len(self._running)

    def abandoned(self) -> int:
        """How many handlers run on although their attempt has ended."""
        return sum(attempt.over for attempt in tuple(self._running))

    def _run(self, attempt: Attempt) -> Failure | None:
        attempt.begin()
        try:
            _refuse_awaitable(self._handlers[attempt.lease.known_as](attempt.context))
        except BaseException as error:  # SystemExit in a handler is a failure like any other
            return failure_of(error, attempt.lease)
        return None

    async def _run_async(self, attempt: Attempt) -> None:
        failure = None
        attempt.begin()
        try:
            await cast(Awaitable[object], self._handlers[attempt.lease.known_as](attempt.context))
        except BaseException as error:  # let out, SystemExit would end the loop for everyone
            failure = failure_of(error, attempt.lease)
        self._finish(attempt, failure)

    def _finish(self, attempt: Attempt, failure: Failure | None) -> bool:
        # Before the attempt ends, or it would count as abandoned for a moment.
        self._running.discard(attempt)
        if attempt.finish(failure):
            return True
        lease = attempt.lease
        said = failure.error_class if failure else "completed"
        self._observe(
            Lifecycle(
                "late_result_dropped",
                f"{lease.key} attempt {lease.attempt} ended after its timeout: {said}",
            )
        )
        return False


def failure_of(error: BaseException, lease: Lease) -> Failure:
    """What a handler's exception means: names and messages bounded, and storable as text.

    The message ends with the place where the exception was raised, which is never cut off.
    """
    at = place_of(error)
    limit = MESSAGE_MAX if lease.attempt >= lease.max_attempts else RETRYING_MESSAGE_MAX
    match error:
        case Retry():
            said = _placed(error.reason, at, limit)
            return Failure("retry", said, retry_after=error.after, raised_at=at)
        case Discard():
            said = _placed(error.reason, at, MESSAGE_MAX)
            return Failure(error.error_class, said, retryable=False, raised_at=at)
        case Cancelled():
            said = _placed("the handler ended as it was told", at, limit)
            return Failure(_text(error.reason, ERROR_CLASS_MAX), said, raised_at=at)
        case _:
            said = _placed(error, at, limit)
            return Failure(_class_name(type(error)), said, raised_at=at)


def _placed(message: object, at: str | None, limit: int) -> str:
    """The message and then the place, `limit` characters at most."""
    end = f" ({at})" if at else ""
    return f"{_text(message, limit - len(end))}{end}".strip()


def _class_name(kind: type[BaseException]) -> str:
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return _text(f"{module}{kind.__qualname__}", ERROR_CLASS_MAX)


def _text(value: object, limit: int) -> str:
    """At most `limit` characters that any UTF-8 store takes."""
    try:
        text = str(value)
    except Exception:  # an exception's own __str__ may be broken
        text = f"<a {type(value).__qualname__} that cannot be printed>"
    # NUL and lone surrogates are legal in Python's strings and nowhere else.
    clean = text[:limit].replace("\x00", "\\0").encode("utf-8", "backslashreplace").decode()
    return clean[:limit]


def _refuse_awaitable(returned: object) -> None:
    """A `def` that hands back a coroutine has done nothing yet."""
    if inspect.isawaitable(returned):
        if isinstance(returned, Coroutine):
            returned.close()
        raise TypeError("a def handler returned an awaitable; write it as async def")


class _Threads:
    """Daemon threads that serve attempts one by one, made when none is idle.

    One whose attempt was given up ends with its handler, and meanwhile another takes its place.
    """

    def __init__(self, run: _Run, finish: _Finish) -> None:
        self._run = run
        self._finish = finish
        self._work: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._idle = 0  # threads that wait, less the work that waits
        self._counting = threading.Lock()
        self._made = 0

    def start(self, attempt: Attempt) -> None:
        self._work.put(attempt)
        if not self._one_less_idle():
            self._made += 1
            name = f"cronledger-handler-{self._made}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def stop(self) -> None:
        for _ in range(self._made):
            self._work.put(None)

    def _serve(self) -> None:
        while (attempt := self._work.get()) is not None:
            failure = self._run(attempt)
            # Idle before the slot is free, or each job could ask for one thread more.
            with self._counting:
                self._idle += 1
            if not self._finish(attempt, failure) and self._one_less_idle():
                return

    def _one_less_idle(self) -> bool:
        with self._counting:
            if self._idle == 0:
                return False
            self._idle -= 1
            return True


class _Loop:
    """The one event loop, on a daemon thread made when first needed."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False

    def start(self, attempt: Attempt, main: Coroutine[Any, Any, None]) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._main, args=(self._loop,), name="cronledger-async", daemon=True
            )
            self._thread.start()
        self._loop.call_soon_threadsafe(_begin, self._loop, attempt, main)

    def stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._stopping = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_SECONDS)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._stopping:
            # SystemExit, out of a task that a handler left behind, must not end the loop.
            with contextlib.suppress(BaseException):
                loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=STOP_SECONDS / 2))
        loop.close()


def _begin(
    loop: asyncio.AbstractEventLoop, attempt: Attempt, main: Coroutine[Any, Any, None]
) -> None:
    """On the loop's thread. The loop holds tasks weakly; ours lives in its own interrupt."""
    task = loop.create_task(main)

    def interrupt() -> None:
        # A loop that is closed has ended the task already.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)

    attempt.cancellation.on_cancel(interrupt)
