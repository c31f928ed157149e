"""A suspect, a job whose lease ended twice with nobody saying why, runs with nothing beside it.

A worker that runs other jobs holds its lease until these have ended, and claims no more meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from cronledger.core.lifecycle import Lease
from cronledger.worker.attempt import Attempt
from cronledger.worker.keeper import Keeper

# A suspect that waits has not begun, so its timeout does not run yet.
NO_TIMEOUT = timedelta(days=3650)


class Alone:
    """Holds at most one suspect. `attempt_of` makes an attempt of a lease that was asked for at
    that moment."""

    def __init__(self, keeper: Keeper, attempt_of: Callable[[Lease, timedelta], Attempt]) -> None:
        self._keeper = keeper
        self._attempt_of = attempt_of
        self._held: tuple[Lease, Attempt] | None = None

    @property
    def waits(self) -> bool:
        """Whether a suspect is held."""
        return self._held is not None

    def hold(self, lease: Lease, sent: timedelta) -> None:
        """Keep its lease alive until `take`."""
        holder = self._attempt_of(replace(lease, timeout=NO_TIMEOUT), sent)
        self._held = lease, holder
        self._keeper.hold([holder])

    def take(self) -> tuple[Lease, timedelta] | None:
        """The suspect and when its lease was last asked for; None if the lease was lost."""
        assert self._held is not None
        lease, holder = self._held
        self._held = None
        self._keeper.drop([holder])
        if holder.lost or holder.cancellation.reason:
            return None
        return lease, holder.held_until - lease.span
