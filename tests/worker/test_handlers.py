"""The registry of handlers, and what it refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from functools import partial

import pytest

from cronledger.errors import ConfigError
from cronledger.worker import Handlers, JobContext, Retry
from cronledger.worker.handlers import is_async


def work(job: JobContext) -> None: ...


async def work_async(job: JobContext) -> None: ...


class CallableObject:
    async def __call__(self, job: JobContext) -> None: ...


def yielding(job: JobContext) -> Iterator[int]:
    yield 1


async def yielding_async(job: JobContext) -> AsyncIterator[int]:
    yield 1


def of_two(job: JobContext, more: int) -> None: ...


def test_a_registered_function_is_found_by_its_kind_and_stays_itself() -> None:
    app = Handlers()
    assert app.handler("work")(work) is work
    assert dict(app) == {"work": work}


def test_a_second_handler_for_a_kind_is_refused_by_name() -> None:
    app = Handlers()
    app.handler("work")(work)
    with pytest.raises(ConfigError, match="'work' already has the handler work; give work_async"):
        app.handler("work")(work_async)
    assert app["work"] is work


@pytest.mark.parametrize("handler", [yielding, yielding_async])
def test_a_generator_is_refused_because_it_would_run_nothing(
    handler: Callable[[JobContext], object],
) -> None:
    with pytest.raises(ConfigError, match="is a generator; remove its yield"):
        Handlers().handler("work")(handler)


def test_a_function_that_takes_more_than_the_context_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be called with one JobContext"):
        Handlers().handler("work")(of_two)  # type: ignore[type-var]  # what users may write
    assert Handlers().handler("work")(partial(of_two, more=1))


@pytest.mark.parametrize("kind", ["", "k" * 201])
def test_a_kind_that_no_job_can_have_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match="is not a kind"):
        Handlers().handler(kind)(work)


def test_what_runs_on_the_loop_is_what_gives_a_coroutine() -> None:
    assert is_async(work_async)
    assert is_async(CallableObject())
    assert is_async(partial(work_async))
    assert not is_async(work)


@pytest.mark.parametrize("after", [timedelta(seconds=-1), timedelta(days=367)])
def test_a_retry_out_of_bounds_is_refused_where_it_is_made(after: timedelta) -> None:
    with pytest.raises(ValueError, match="0 to 366 days"):
        Retry(after)


def test_a_retry_after_a_bare_number_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a timedelta"):
        Retry(5)  # type: ignore[arg-type]  # what users may write
