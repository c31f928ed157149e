"""Noting a file: which versions open, which end, and from when.

The schedules are locked first, so of ten processes that load the same file one opens a version
and nine see that nothing changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cronledger.adapters.postgres.session import Session
from cronledger.adapters.postgres.zonestore import ZoneStore, keep
from cronledger.core.instants import Zone, format_instant, same_rules
from cronledger.core.schedule import QueueSpec, Schedule, Version, known_as
from cronledger.core.spec import timing_hash, to_spec
from cronledger.core.timeline import ALWAYS, timeline
from cronledger.core.versioning import Change, Held, Wanted, change
from cronledger.errors import RefusedError
from cronledger.ports import Noted, Noting

# From so many schedules on, a file that ends them all must say that it is meant.
MANY = 3


@dataclass(slots=True)
class _Head:
    """A schedule of the ledger with its versions in force now or later (none if it is ended)."""

    id: int
    decided_to: datetime
    highest: int
    ended_at: datetime | None
    held: list[Held] = field(default_factory=list)
    # The latest instant from which on a version came into force when it was opened.
    opened_to: datetime | None = None

    def earliest(self) -> datetime:
        """Nothing may change before this: a version was in force, or keys were decided on.

        `decided_to` is the first whole second that is undecided, up to a second ahead of now.
        """
        decided = self.decided_to - timedelta(seconds=1)
        going_on = any(version.effective_to is None for version in self.held)
        ended = None if going_on else self.ended_at
        return max(decided, self.opened_to or decided, ended or decided)


@dataclass(frozen=True, slots=True)
class _File:
    """The schedules of a file with their versions, and the hash of each."""

    schedules: Sequence[Schedule]
    versions: Mapping[str, tuple[Version, ...]]
    wanted: Mapping[str, Sequence[Wanted]]

    @staticmethod
    def of(schedules: Sequence[Schedule]) -> _File:
        versions = {schedule.id: timeline(schedule) for schedule in schedules}
        wanted = {
            name: [Wanted(v.effective_from, timing_hash(v.timing)) for v in of_one]
            for name, of_one in versions.items()
        }
        return _File(schedules, versions, wanted)


def note(session: Session, schedules: Sequence[Schedule], noting: Noting) -> Noted:
    """Open a version for each timing that changed, end the schedules that are gone."""
    file = _File.of(schedules)
    now = noting.at or session.run("now")[0]["now"]
    heads = _heads(session, now, noting)
    if not noting.replace:
        _refuse_another_file(heads, schedules)
    session.run("upsert_queues", _queues(noting.queues))
    session.run("describe_schedules", _described(schedules))
    budget = noting.retry_budget
    whole = {"per_minute": budget.per_minute, "mode": str(budget.mode)}
    session.run("set_ledger", whole | asdict(noting.retention))
    if not _changes(file, heads, now):
        return Noted(now)
    with session.transaction():
        # Taken after the lock, so that versions open in the order in which they are noted.
        session.run("add_schedules", {"names": sorted(file.wanted), "at": now})
        session.run("describe_schedules", _described(schedules))
        session.run("lock_schedules")
        moment = noting.at or session.run("now")[0]["now"]
        heads = _heads(session, moment, noting)
        touched = [heads[name] for name in _changes(file, heads, moment)]
        moment = _not_before(moment, touched, noting.at)
        changes = _changes(file, heads, moment)
        _write(session, file, heads, changes, noting.zones.load)
    return _noted(file, heads, changes, moment)


def backdate(session: Session, schedule: Schedule, since: datetime, noting: Noting) -> None:
    """Make the versions from `since` on those of the file, whatever they were."""
    file = _File.of([schedule])
    with session.transaction():
        session.run("lock_schedules")
        heads = _heads(session, since, noting)
        found = change(heads[schedule.id].held, file.wanted[schedule.id], since)
        _write(session, file, heads, {schedule.id: found}, noting.zones.load)


def _refuse_another_file(heads: Mapping[str, _Head], schedules: Sequence[Schedule]) -> None:
    """A file that knows none of many schedules is rather the wrong one than their end."""
    in_force = [name for name, head in heads.items() if head.held]
    known = {name for s in schedules for name in (s.id, *s.aliases)}
    if len(in_force) >= MANY and known.isdisjoint(in_force):
        raise RefusedError(
            f"the file has none of the {len(in_force)} schedules in force "
            f"({', '.join(in_force[:MANY])}, ...), and loading it would end them all; is it the "
            "right file, and the right database? If they are to end, add --replace"
        )


def _heads(session: Session, at: datetime, noting: Noting) -> dict[str, _Head]:
    rows = session.run("open_versions", {"at": at})
    stored = ZoneStore(session).zones(
        (row["timezone"], row["tzdata"])
        for row in rows
        if row["number"] is not None and row["tzdata"] < noting.zones.version
    )
    heads: dict[str, _Head] = {}
    for row in rows:
        head = heads.setdefault(
            row["name"], _Head(row["id"], row["decided_to"], row["highest"], row["ended_at"])
        )
        if row["number"] is None:
            continue
        zone = stored.get((row["timezone"], row["tzdata"]))
        moved = zone is not None and not same_rules(zone, noting.zones.load(zone.name), at)
        hash_ = "" if moved else row["timing_hash"]
        head.held.append(Held(row["number"], row["effective_from"], row["effective_to"], hash_))
        if row["effective_from"] <= row["loaded_at"]:
            head.opened_to = max(head.opened_to or row["effective_from"], row["effective_from"])
    return heads


def _changes(file: _File, heads: Mapping[str, _Head], moment: datetime) -> dict[str, Change]:
    """What is to change, by schedule; schedules of the file that the ledger lacks among them."""
    names = [*file.wanted, *(name for name in heads if name not in file.wanted)]
    changes = {
        name: change(heads[name].held if name in heads else [], file.wanted.get(name, ()), moment)
        for name in names
    }
    return {name: found for name, found in changes.items() if found}


def _not_before(moment: datetime, heads: Sequence[_Head], at: datetime | None) -> datetime:
    """The moment of the change, never before a version that it follows."""
    latest = max((head.earliest() for head in heads), default=moment)
    if moment >= latest:
        return moment
    if at is not None:
        raise RefusedError(
            f"the file would open versions at {format_instant(at)}, but the ledger has decided "
            f"up to {format_instant(latest)}; the past is not rewritten: use a later --at"
        )
    return latest


def _write(
    session: Session,
    file: _File,
    heads: Mapping[str, _Head],
    changes: Mapping[str, Change],
    zone_of: Callable[[str], Zone],
) -> None:
    ends = [
        (heads[name].id, number, end)
        for name, found in changes.items()
        for number, end in found.ends
    ]
    # First what ends, so that no schedule ever has two open versions.
    for some in ([e for e in ends if e[2] is not None], [e for e in ends if e[2] is None]):
        if some:
            ids, numbers, instants = (list(column) for column in zip(*some, strict=True))
            session.run("end_versions", {"ids": ids, "numbers": numbers, "ends": instants})
    opens = [
        (heads[name], count, opening, file.versions[name][opening.index].timing)
        for name, found in changes.items()
        for count, opening in enumerate(found.opens, 1)
    ]
    zones = {timing.timezone: zone_of(timing.timezone) for *_, timing in opens}
    keep(session, zones.values())
    if opens:
        session.run(
            "add_versions",
            {
                "ids": [head.id for head, *_ in opens],
                "numbers": [head.highest + count for head, count, *_ in opens],
                "starts": [opening.effective_from for _, _, opening, _ in opens],
                "ends": [opening.effective_to for _, _, opening, _ in opens],
                "hashes": [timing_hash(timing) for *_, timing in opens],
                "specs": [json.dumps(to_spec(timing)) for *_, timing in opens],
                "tzdata": [zones[timing.timezone].version for *_, timing in opens],
            },
        )


def _noted(
    file: _File, heads: Mapping[str, _Head], changes: Mapping[str, Change], moment: datetime
) -> Noted:
    late = {
        name
        for name, found in changes.items()
        for opening in found.opens
        # Of a schedule that is new, the file may date what was before.
        if heads[name].held and ALWAYS < file.wanted[name][opening.index].effective_from < moment
    }
    return Noted(
        moment,
        tuple(sorted(name for name, found in changes.items() if found.opens)),
        tuple(sorted(name for name in changes if name not in file.wanted)),
        tuple(sorted(late)),
    )


def _described(schedules: Sequence[Schedule]) -> dict[str, Any]:
    """What the occurrences of each schedule count as, under its earlier ids too; as columns."""
    named = known_as({schedule.id: schedule for schedule in schedules})
    return {
        "names": list(named),
        "classes": [schedule.routing.schedule_class for schedule in named.values()],
        "objectives": [schedule.objective for schedule in named.values()],
    }


def _queues(queues: Sequence[QueueSpec]) -> dict[str, Any]:
    return {
        "names": [queue.name for queue in queues],
        "objectives": [queue.objective for queue in queues],
        "leases": [queue.lease for queue in queues],
        "max_attempts": [queue.max_attempts for queue in queues],
        "timeouts": [queue.timeout for queue in queues],
        "backoff_bases": [queue.backoff_base for queue in queues],
        "backoff_caps": [queue.backoff_cap for queue in queues],
        "retry_budgets": [queue.retry_budget for queue in queues],
        "tenant_limits": [queue.tenant_limit for queue in queues],
        "budget_modes": [str(queue.budget_mode) for queue in queues],
    }
