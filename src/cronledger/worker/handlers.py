"""Which handler runs which kind of job, and which versions of its payload."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from cronledger.core.lifecycle import known_as
from cronledger.errors import ConfigError
from cronledger.worker.context import JobContext

Handler: TypeAlias = Callable[[JobContext], object]
"""A `def` or `async def` that takes the context; what it returns is dropped."""

HandlerT = TypeVar("HandlerT", bound=Handler)

KIND_BYTES_MAX = 200


class Handlers(Mapping[str, Handler]):
    """A registry of handlers by kind, made for `work --app module:object`.

    app = Handlers()

    @app.handler("report")
    def report(job: JobContext) -> None: ...
    """

    def __init__(self) -> None:
        self._by_kind: dict[str, Handler] = {}

    def handler(self, kind: str, versions: Sequence[int] = (1,)) -> Callable[[HandlerT], HandlerT]:
        """Registers the function below it, for these versions of the payload.

        Raises ConfigError if the kind has a handler for one of them.
        """

        def register(function: HandlerT) -> HandlerT:
            if not versions or any(type(v) is not int or v < 1 for v in versions):
                raise ConfigError(f"{versions!r} are no versions; use numbers from 1 on")
            for version in versions:
                self._register(known_as(kind, version), function)
            return function

        return register

    def _register(self, known: str, function: Handler) -> None:
        if known in self._by_kind:
            raise ConfigError(
                f"kind {known!r} already has the handler {_name(self._by_kind[known])}; "
                f"give {_name(function)} another kind"
            )
        refuse_unusable(known, function)
        self._by_kind[known] = function

    def __getitem__(self, kind: str) -> Handler:
        return self._by_kind[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_kind)

    def __len__(self) -> int:
        return len(self._by_kind)


def refuse_unusable(kind: object, handler: object) -> None:
    """Raises ConfigError unless `handler` can run jobs of `kind`."""
    if not isinstance(kind, str) or not 1 <= len(kind.encode()) <= KIND_BYTES_MAX:
        raise ConfigError(f"{kind!r} is not a kind; use a string of 1 to {KIND_BYTES_MAX} bytes")
    if not callable(handler):
        raise ConfigError(f"the handler of {kind!r} is {handler!r}; use a function")
    name = _name(handler)
    if any(map(inspect.isgeneratorfunction, _bodies(handler))) or any(
        map(inspect.isasyncgenfunction, _bodies(handler))
    ):
        # Calling it would make a generator and run nothing, and the job would count as completed.
        raise ConfigError(f"the handler of {kind!r}, {name}, is a generator; remove its yield")
    try:
        inspect.signature(handler).bind(object())
    except TypeError as error:
        raise ConfigError(
            f"the handler of {kind!r}, {name}, cannot be called with one JobContext ({error}); "
            "write `def handler(job: JobContext) -> None`"
        ) from None
    except ValueError:
        return  # some built-in callables tell no signature


def is_async(handler: Handler) -> bool:
    """Whether calling the handler gives a coroutine."""
    return any(map(inspect.iscoroutinefunction, _bodies(handler)))


def _bodies(handler: Callable[..., object]) -> tuple[object, ...]:
    """The callable and, for an object with `__call__`, that method."""
    return handler, getattr(handler, "__call__", None)  # noqa: B004  # the method is what counts


def _name(handler: object) -> str:
    return getattr(handler, "__qualname__", None) or repr(handler)
