"""What a handler writes once: an outside effect under a receipt, or its own rows with its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeAlias, assert_never

from cronledger.core.lifecycle import Lease, Timing
from cronledger.core.receipts import NAME_BYTES_MAX, Begun, Decision, fingerprint
from cronledger.ports import Effects
from cronledger.worker.signals import LEASE_LOST, Cancelled, EffectConflict, EffectInDoubt

# Runs what completes a job, unless its attempt has ended; whether it did.
Settle: TypeAlias = Callable[[Callable[[Timing], bool]], bool]


class Receipt:
    """One effect of one job, begun. `should_run` says whether it is to be done now.

    `key` is what the provider deduplicates by; "" if the effect has happened, and `result` is then
    what was committed. `resumed`: an earlier attempt may have done it under the same key.
    """

    def __init__(self, begun: Begun, commit: Callable[[Any], bool]) -> None:
        self.should_run = begun.decision is not Decision.DONE
        self.resumed = begun.decision is Decision.RESUME
        self.key = begun.idempotency_key or ""
        self.result = begun.result
        self._commit = commit
        self.committed = not self.should_run

    def commit(self, result: Any = None) -> None:
        """It has happened; `result` (as JSON) is kept for those who ask again.

        Raises Cancelled if the lease was lost meanwhile: then the next attempt resumes.
        """
        if not self._commit(result):
            raise Cancelled(LEASE_LOST)
        self.committed, self.result = True, result


class WriteOnce:
    """What `JobContext.write_once` gives: for `with`, or for `async with` in an `async def`."""

    def __init__(
        self, effects: Effects, lease: Lease, name: str, inputs: Any, window: timedelta | None
    ) -> None:
        if not 1 <= len(name.encode()) <= NAME_BYTES_MAX:
            raise ValueError(f"{name!r} names no effect; use 1 to {NAME_BYTES_MAX} bytes")
        if window is not None and window <= timedelta(0):
            raise ValueError("window: how long the provider knows a key is longer than zero")
        self._effects, self._lease = effects, lease
        self._name, self._window = name, window
        self._fingerprint = fingerprint(inputs)
        self._receipt: Receipt | None = None

    def __enter__(self) -> Receipt:
        begun = self._effects.begin(self._lease, self._name, self._fingerprint, self._window)
        match begun.decision:
            case Decision.RUN | Decision.RESUME | Decision.DONE:
                self._receipt = Receipt(begun, self._commit)
                return self._receipt
            case Decision.CONFLICT:
                raise EffectConflict(
                    f"effect {self._name!r} was begun with other inputs; give another effect, or "
                    "the same inputs in every attempt"
                )
            case Decision.IN_DOUBT:
                raise EffectInDoubt(
                    f"effect {self._name!r} was begun and not committed, and its provider has "
                    "forgotten the key; `cronledger effects resolve` says what became of it"
                )
            case Decision.LEASE_LOST:
                raise Cancelled(LEASE_LOST)
            case never:
                assert_never(never)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        receipt = self._receipt
        if kind is None and receipt is not None and not receipt.committed:
            raise RuntimeError(
                f"effect {self._name!r} ended without commit(); call it once the effect has "
                "happened, or raise if it has not"
            )

    async def __aenter__(self) -> Receipt:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)

    def _commit(self, result: Any) -> bool:
        return self._effects.commit(self._lease, self._name, result)


@contextmanager
def completing(effects: Effects, lease: Lease, settle: Settle) -> Iterator[Any]:
    """A connection in a transaction that commits together with the completion of the job."""
    with effects.completing(lease) as (connection, complete):
        yield connection
        if not settle(complete):
            raise Cancelled(LEASE_LOST)
