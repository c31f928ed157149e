"""When a job may start: its logical time, a stable splay, and the pace of a catch-up.

The key never moves; what moves is `run_at`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from cronledger.core.instants import from_epoch
from cronledger.core.schedule import Schedule


def share(schedule_id: str) -> float:
    """A stable number in [0, 1) for a schedule, so that its runs keep their distances.

    It depends on the id alone: the same on every host, after every restart and in a catch-up.
    """
    return int.from_bytes(sha256(schedule_id.encode()).digest()[:8], "big") / 2**64


def run_ats(
    schedule: Schedule,
    epochs: Sequence[int],
    following: Sequence[int | None],
    caught_up: Collection[int],
    now: datetime,
) -> list[datetime]:
    """When the job of each of `epochs` (ascending) may start.

    `following` is the next expected epoch after each (None: none near); no splay reaches it. Keys
    that are caught up start from `now` on, `catchup.pace` apart, in the policy's order.
    """
    late = [epoch for epoch in epochs if epoch in caught_up]
    if schedule.catchup.order == "newest":
        late.reverse()
    place = {epoch: index for index, epoch in enumerate(late)}
    found = []
    for epoch, after in zip(epochs, following, strict=True):
        start = from_epoch(epoch) + _splay(schedule, epoch, after)
        if epoch in place:
            start = max(start, now + schedule.catchup.pace * place[epoch])
        found.append(start)
    return found


def _splay(schedule: Schedule, epoch: int, after: int | None) -> timedelta:
    room = schedule.splay
    if after is not None:
        room = min(room, timedelta(seconds=after - epoch))
    # Whole milliseconds below the room: the next occurrence is never reached.
    return timedelta(milliseconds=int(share(schedule.id) * (room // timedelta(milliseconds=1))))
