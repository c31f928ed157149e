"""Which unrecorded keys a tick enqueues now, which it leaves out, and why.

A tick looks at every expected key of its reach that is neither recorded nor left out already.
On time is enqueued; late is for the catch-up policy to decide. Each key left out has a reason.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cronledger.core.instants import Window, from_epoch, to_epoch, up_to
from cronledger.core.keys import OccurrenceKey
from cronledger.core.schedule import Catchup, CatchupPolicy, Order, Overlap, Schedule


class Reason(StrEnum):
    """Why an expected key was left out on purpose."""

    OUTSIDE_WINDOW = "outside_window"
    OVER_LIMIT = "over_limit"
    POLICY_NONE = "policy_none"
    COALESCED = "coalesced"
    PAUSED = "paused"
    SKIPPED = "skipped"
    OVERLAP = "overlap"

    @property
    def suppresses(self) -> bool:
        """Suppressed: never owed. The others are omitted: owed, and given up by catch-up policy."""
        return self in (Reason.PAUSED, Reason.SKIPPED, Reason.OVERLAP)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Expected keys left out for one reason: those in `[start, end)` (epochs), `count` of them."""

    start: int
    end: int
    reason: Reason
    count: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a tick does about one schedule: epochs to enqueue (ascending), and ranges left out.

    `caught_up` are those of `enqueue` that are late.
    """

    enqueue: tuple[int, ...]
    left_out: tuple[LeftOut, ...]
    caught_up: frozenset[int] = frozenset()


def reach(schedule: Schedule, decided_to: datetime, now: datetime, deadline: timedelta) -> Window:
    """How far back a tick looks: the catch-up window, and whatever was never decided on."""
    look_back = max(schedule.catchup.window, deadline)
    return up_to(min(now - look_back, decided_to), now)


def plan(
    schedule: Schedule,
    expected: Sequence[int],
    settled: Collection[int],
    decided_to: datetime,
    now: datetime,
    deadline: timedelta,
) -> Plan:
    """Decide on each of `expected` (ascending epochs, due) that is not in `settled`.

    `deadline` is the lateness up to which a key is on time (inclusive).
    """
    undecided = [epoch for epoch in expected if epoch not in settled]
    reasons: dict[int, Reason] = {}
    late: list[int] = []
    enqueue: list[int] = []
    on_time_from, _ = Window(now - deadline, now).epochs()
    window_from, _ = Window(now - schedule.catchup.window, now).epochs()
    for epoch in undecided:
        suppressed = suppression(schedule, epoch)
        if suppressed is not None:
            reasons[epoch] = suppressed
        elif epoch >= on_time_from:
            enqueue.append(epoch)
        elif epoch < window_from:
            reasons[epoch] = Reason.OUTSIDE_WINDOW
        else:
            late.append(epoch)
    caught_up, omitted = _catch_up(late, schedule.catchup, to_epoch(decided_to))
    reasons.update(omitted)
    return Plan(
        tuple(sorted(enqueue + caught_up)),
        tuple(ranges(expected, reasons)),
        frozenset(caught_up),
    )


def without_overlap(made: Plan, expected: Sequence[int], overlap: Overlap, unfinished: int) -> Plan:
    """The plan where earlier occurrences that are `unfinished` (so many) decide what is enqueued.

    Of keys that are due in one pass SKIP and CANCEL_OTHER keep the newest, so that no two of them
    overlap either; BUFFER_ONE keeps the oldest as far as there is room to run and to wait.
    """
    match overlap:
        case Overlap.ALLOW | Overlap.BUFFER_ALL:
            return made
        case Overlap.SKIP:
            taken = () if unfinished else made.enqueue[-1:]
        case Overlap.CANCEL_OTHER:
            taken = made.enqueue[-1:]
        case Overlap.BUFFER_ONE:
            taken = made.enqueue[: max(0, 2 - unfinished)]
    reasons = {epoch: Reason.OVERLAP for epoch in made.enqueue if epoch not in taken}
    for span in made.left_out:
        for epoch in expected[bisect_left(expected, span.start) : bisect_left(expected, span.end)]:
            reasons[epoch] = span.reason
    return Plan(tuple(taken), tuple(ranges(expected, reasons)), made.caught_up & set(taken))


def suppression(schedule: Schedule, epoch: int) -> Reason | None:
    """Why the key at `epoch` is not owed though the trigger yields it; None if it is owed."""
    logical_time = from_epoch(epoch)
    for pause in schedule.pauses:
        if pause.start <= logical_time and (pause.end is None or logical_time < pause.end):
            return Reason.PAUSED
    if schedule.skip and OccurrenceKey(schedule.id, logical_time) in schedule.skip:
        return Reason.SKIPPED
    return None


def _catch_up(
    late: Sequence[int], catchup: Catchup, decided_to: int
) -> tuple[list[int], Mapping[int, Reason]]:
    """Split late keys (ascending) into those to enqueue and those to omit with a reason."""
    match catchup.policy:
        case CatchupPolicy.NONE:
            # Behind `decided_to` a key was recorded once: its loss is no policy's decision, so it
            # stays missing for a human to see.
            return [], {epoch: Reason.POLICY_NONE for epoch in late if epoch >= decided_to}
        case CatchupPolicy.LATEST:
            taken, reason = list(late[-1:]), Reason.COALESCED
        case CatchupPolicy.EARLIEST:
            taken, reason = list(late[:1]), Reason.COALESCED
        case CatchupPolicy.ALL:
            oldest = catchup.order is Order.OLDEST
            taken = list(late[: catchup.maximum] if oldest else late[-catchup.maximum :])
            reason = Reason.OVER_LIMIT
    kept = set(taken)
    return taken, {epoch: reason for epoch in late if epoch not in kept}


def ranges(expected: Sequence[int], reasons: Mapping[int, Reason]) -> Iterator[LeftOut]:
    """The keys of `reasons` as ranges of neighbours in `expected` that share a reason.

    A key in between that has no reason ends a range, so that no range covers a recorded key.
    """
    start, last, count = 0, 0, 0
    current: Reason | None = None
    for epoch in expected:
        reason = reasons.get(epoch)
        if reason is not current:
            if current is not None:
                yield LeftOut(start, last + 1, current, count)
            start, count, current = epoch, 0, reason
        last = epoch
        count += 1
    if current is not None:
        yield LeftOut(start, last + 1, current, count)
