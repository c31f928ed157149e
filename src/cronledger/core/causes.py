"""Why a key is recorded that no version in force owes: the likely cause, from what versions say.

A guess by set arithmetic: who would owe the key, if not the version in force at its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from cronledger.core.expand import instants
from cronledger.core.expected import Standing, clock_of, expected
from cronledger.core.instants import Window, Zone, from_epoch
from cronledger.core.schedule import Version

ZoneOf = Callable[[str], Zone]


class Cause(StrEnum):
    """Where an unexpected key likely comes from.

    ZONE_EDIT, EXPRESSION_EDIT: another version of the schedule owes it, which differs in its clock
    alone, or in more. RENAMED_SCHEDULE: the same schedule under its other name owes it.
    SECOND_PRODUCER: nobody we know owes it, so something else writes here.
    """

    ZONE_EDIT = "zone_edit"
    EXPRESSION_EDIT = "expression_edit"
    RENAMED_SCHEDULE = "renamed_schedule"
    SECOND_PRODUCER = "second_producer"

    @property
    def words(self) -> str:
        """What it says to a person."""
        return _WORDS[self]


_WORDS = {
    Cause.ZONE_EDIT: "another version of the schedule owes it, which differs in its clock alone",
    Cause.EXPRESSION_EDIT: "another version of the schedule owes it; its trigger was edited",
    Cause.RENAMED_SCHEDULE: "the schedule owes it under its other name",
    Cause.SECOND_PRODUCER: "no version that the ledger knows owes it, so something else wrote it",
}


def causes(
    epochs: Sequence[int], standing: Standing, known: Iterable[Standing], zone_of: ZoneOf
) -> Mapping[int, Cause]:
    """The likely cause of each of `epochs` (ascending), which are unexpected.

    `known` are schedules that may be the same one under another name.
    """
    if not epochs:
        return {}
    window = Window(from_epoch(epochs[0]), from_epoch(epochs[-1] + 1))
    owed_by = [
        (version, frozenset(instants(version.timing, clock_of(version, zone_of), window)))
        for version in standing.versions
    ]
    kin = [frozenset(expected(other.versions, window, zone_of)) for other in known]
    return {epoch: _cause(epoch, owed_by, kin) for epoch in epochs}


def namesakes(
    standing: Standing, known: Iterable[Standing], ids: Mapping[str, str]
) -> Iterator[Standing]:
    """Those of `known` that may be the same schedule under another name.

    `ids`: the id that the file has for each name it knows, aliases among them. A rename without an
    alias shows by a schedule that began when this one ended, with its timing, or the reverse.
    """
    ours = ids.get(standing.name, standing.name)
    for other in known:
        same = ids.get(other.name, other.name) == ours
        follows = _follows(standing, other) or _follows(other, standing)
        if other.id != standing.id and (same or follows):
            yield other


def _follows(one: Standing, other: Standing) -> bool:
    last, first = one.versions[-1], other.versions[0]
    return last.effective_to == first.effective_from and last.timing == first.timing


def _cause(
    epoch: int,
    owed_by: Sequence[tuple[Version, frozenset[int]]],
    kin: Sequence[frozenset[int]],
) -> Cause:
    in_force = next((v for v, _ in owed_by if v.is_in_force(from_epoch(epoch))), None)
    if in_force is not None:
        owing = [version for version, owed in owed_by if epoch in owed]
        if any(_differ_in_clock(version, in_force) for version in owing):
            return Cause.ZONE_EDIT
        if owing:
            return Cause.EXPRESSION_EDIT
    if any(epoch in owed for owed in kin):
        return Cause.RENAMED_SCHEDULE
    return Cause.SECOND_PRODUCER


def _differ_in_clock(one: Version, other: Version) -> bool:
    """Whether all that differs is the zone, or what was known of its rules."""
    return replace(one.timing, timezone=other.timing.timezone) == other.timing
