"""From which rank on a claim has to look: below it was nothing, and what was taken since is gone.

Rows that were taken stay in the index while some old transaction may still see them, and a claim
that begins at the start steps over each of them. One that begins where the last one did does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from cronledger.core.lifecycle import Lease

# So long at most a job that comes in below the floor (an urgent one, one put back) may go unseen.
FORGOTTEN_AFTER = timedelta(seconds=2)


class Floor:
    """The floor of one claimer; its clock is the database's."""

    def __init__(self) -> None:
        self._queues: list[str] = []
        self._rank: datetime | None = None
        self._since: datetime | None = None

    def of(self, queues: Sequence[str]) -> datetime | None:
        """The rank from which on the next claim of these queues looks; None is from the first."""
        return self._rank if list(queues) == self._queues else None

    def claimed(self, queues: Sequence[str], leases: Sequence[Lease], limit: int) -> None:
        """A claim gave these. Only a full one says where the first job is."""
        full = len(leases) >= limit and len(queues) == 1
        if not full:
            self._rank = self._since = None
            return
        first = leases[0]
        if self._queues != list(queues) or self._since is None:
            self._queues, self._since = list(queues), first.claimed_at
        elif first.claimed_at - self._since >= FORGOTTEN_AFTER:
            self._rank = self._since = None
            return
        self._rank = first.rank
