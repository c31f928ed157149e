"""Which transitions of a job there are: the law that the SQL functions implement.

The functions are held to it by a test that drives both with the same random sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from cronledger.core.lifecycle import JobState

# So often a job may be handed back before it is charged.
RELEASES_MAX = 10


class Act(StrEnum):
    """What happens to a job, by whom: the clock, its worker, or an operator."""

    DUE = "due"  # the clock: what waited may be claimed
    CLAIM = "claim"  # a worker
    EXTEND = "extend"
    COMPLETE = "complete"
    FAIL = "fail"  # worth another attempt
    GIVE_UP = "give_up"  # a failure that is not
    RELEASE = "release"
    EXPIRE = "expire"  # the clock: nobody extended
    CANCEL = "cancel"  # an operator
    RETRY_NOW = "retry_now"
    TAKE_BACK = "take_back"
    PROLONG = "prolong"
    REPLAY = "replay"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job stands. `budget`: how many attempts each life of it has."""

    state: JobState
    budget: int
    attempt: int = 0
    max_attempts: int = 0
    releases: int = 0
    cancel_requested: bool = False
    discarded: bool = False


def created(budget: int, *, due: bool) -> Place:
    """A new job."""
    return Place(JobState.ELIGIBLE if due else JobState.SCHEDULED, budget, 0, budget)


def after(place: Place, act: Act) -> Place | None:
    """Where the job stands then; None if the act is refused. An act done before changes nothing."""
    match place.state:
        case JobState.SCHEDULED | JobState.RETRYING | JobState.ELIGIBLE:
            return _waiting(place, act)
        case JobState.LEASED:
            return _leased(place, act)
        case JobState.DEAD:
            return _dead(place, act)
        case JobState.COMPLETED:
            return None
        case JobState.CANCELLED:
            return place if act is Act.CANCEL else None


def _waiting(place: Place, act: Act) -> Place | None:
    match act:
        case Act.CANCEL:
            return replace(place, state=JobState.CANCELLED)
        case Act.DUE | Act.RETRY_NOW:
            return replace(place, state=JobState.ELIGIBLE)
        case Act.CLAIM if place.state is JobState.ELIGIBLE:
            return replace(place, state=JobState.LEASED, attempt=place.attempt + 1)
        case Act.REPLAY if place.attempt > 0:
            return place
        case _:
            return None


def _leased(place: Place, act: Act) -> Place | None:
    match act:
        case Act.EXTEND | Act.PROLONG | Act.REPLAY:
            return place
        case Act.COMPLETE:
            return replace(place, state=JobState.COMPLETED, cancel_requested=False)
        case Act.CANCEL:
            return replace(place, cancel_requested=True)
        case Act.FAIL | Act.EXPIRE | Act.GIVE_UP:
            return _failed(place, again=act is not Act.GIVE_UP)
        case Act.RELEASE | Act.TAKE_BACK:
            return _handed_back(place, by_worker=act is Act.RELEASE)
        case _:
            return None


def _handed_back(place: Place, *, by_worker: bool) -> Place:
    if place.cancel_requested or (by_worker and place.releases >= RELEASES_MAX):
        return _failed(place, again=True)
    state, attempt, releases = JobState.ELIGIBLE, place.attempt - 1, place.releases + 1
    return replace(place, state=state, attempt=attempt, releases=releases)


def _failed(place: Place, *, again: bool) -> Place:
    if place.cancel_requested:
        return replace(place, state=JobState.CANCELLED, cancel_requested=False)
    state = JobState.RETRYING if again and place.attempt < place.max_attempts else JobState.DEAD
    return replace(place, state=state)


def _dead(place: Place, act: Act) -> Place | None:
    match act:
        case Act.REPLAY:
            return Place(
                JobState.ELIGIBLE, place.budget, place.attempt, place.attempt + place.budget
            )
        case Act.DISCARD:
            return replace(place, discarded=True)
        case _:
            return None
