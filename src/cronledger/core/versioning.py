"""How the dated timings of a file change the versions that a ledger holds, never before a moment.

Up to the moment the ledger's versions stay as they are; from it on they are those of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Held:
    """A version of the ledger. `timing_hash` is "" where nothing of the file can equal it."""

    number: int
    effective_from: datetime
    effective_to: datetime | None
    timing_hash: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A timing of the file, in force from `effective_from` until the next one's."""

    effective_from: datetime
    timing_hash: str


@dataclass(frozen=True, slots=True)
class Opening:
    """A version to open: the timing at `index` of those wanted."""

    index: int
    effective_from: datetime
    effective_to: datetime | None


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done: ends to set, by number of version (None opens it again), and openings.

    A version that is withdrawn before it came into force ends where it begins.
    """

    ends: tuple[tuple[int, datetime | None], ...] = ()
    opens: tuple[Opening, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ends or self.opens)


def change(held: Sequence[Held], wanted: Sequence[Wanted], moment: datetime) -> Change:
    """From `moment` on `held` shall be what `wanted` says (both ascending); none ends them all."""
    live = [version for version in held if _reaches(version, moment)]
    due = list(_due(wanted, moment))
    kept = 0
    for version, opening in zip(live, due, strict=False):
        same = version.timing_hash == wanted[opening.index].timing_hash
        if not same or max(version.effective_from, moment) != opening.effective_from:
            break
        kept += 1
    ends: list[tuple[int, datetime | None]] = [
        (version.number, max(version.effective_from, moment)) for version in live[kept:]
    ]
    ends += [
        (version.number, opening.effective_to)
        for version, opening in zip(live[:kept], due[:kept], strict=True)
        if version.effective_to != opening.effective_to
    ]
    return Change(tuple(ends), tuple(due[kept:]))


def _reaches(version: Held, moment: datetime) -> bool:
    """Whether it is in force at `moment` or after."""
    ends = version.effective_to
    return ends is None or ends > max(moment, version.effective_from)


def _due(wanted: Sequence[Wanted], moment: datetime) -> Iterator[Opening]:
    """What is wanted from `moment` on; neighbours that owe the same are one."""
    apart = [
        index
        for index, version in enumerate(wanted)
        if index == 0 or version.timing_hash != wanted[index - 1].timing_hash
    ]
    for index, following in pairwise([*apart, None]):
        assert index is not None
        ends = None if following is None else wanted[following].effective_from
        if ends is None or ends > moment:
            yield Opening(index, max(wanted[index].effective_from, moment), ends)
