"""Noting a file: which versions open, which end, and from when.

The schedules are locked first, so of ten processes that load the same file one opens a version
and nine see that nothing changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cronledger.adapters.postgres.session import Session
from cronledger.core.instants import format_instant
from cronledger.core.schedule import QueueSpec, Schedule
from cronledger.core.spec import timing_hash, to_spec
from cronledger.errors import RefusedError
from cronledger.ports import Noted, Noting

# From so many schedules on, a file that ends them all must say that it is meant.
MANY = 3


@dataclass(frozen=True, slots=True)
class _Head:
    """The version in force of a schedule (hash and start None if it is ended)."""

    id: int
    decided_to: datetime
    timing_hash: str | None
    effective_from: datetime | None
    highest: int
    ended_at: datetime | None

    def earliest(self) -> datetime:
        """No new version may start before this: a version was in force, or keys were decided on.

        `decided_to` is the first whole second that is undecided, up to a second ahead of now.
        """
        decided = self.decided_to - timedelta(seconds=1)
        return max(decided, self.effective_from or self.ended_at or decided)


def note(session: Session, schedules: Sequence[Schedule], noting: Noting) -> Noted:
    """Open a version for each timing that changed, end the schedules that are gone."""
    hashes = {schedule.id: timing_hash(schedule.timing) for schedule in schedules}
    at, tzdata = noting.at, noting.tzdata
    now = at or session.run("now")[0]["now"]
    if not noting.replace:
        _refuse_another_file(_heads(session), schedules)
    session.run("upsert_queues", _queues(noting.queues))
    if _unchanged(_heads(session), hashes):
        return Noted(now, (), ())
    with session.transaction():
        # Taken after the lock, so that versions open in the order in which they are noted.
        session.run("add_schedules", {"names": sorted(hashes), "at": now})
        session.run("lock_schedules")
        heads = _heads(session)
        moment = at or session.run("now")[0]["now"]
        opened = [s for s in schedules if heads[s.id].timing_hash != hashes[s.id]]
        ended = [n for n, h in heads.items() if h.timing_hash is not None and n not in hashes]
        moment = _not_before(moment, [heads[n] for n in (*ended, *(s.id for s in opened))], at)
        _write(session, opened, [heads[name] for name in ended], heads, tzdata, moment)
    return Noted(moment, tuple(sorted(s.id for s in opened)), tuple(sorted(ended)))


def _refuse_another_file(heads: dict[str, _Head], schedules: Sequence[Schedule]) -> None:
    """A file that knows none of many schedules is rather the wrong one than their end."""
    in_force = [name for name, head in heads.items() if head.timing_hash is not None]
    known = {name for s in schedules for name in (s.id, *s.aliases)}
    if len(in_force) >= MANY and known.isdisjoint(in_force):
        raise RefusedError(
            f"the file has none of the {len(in_force)} schedules in force "
            f"({', '.join(in_force[:MANY])}, ...), and loading it would end them all; is it the "
            "right file, and the right database? If they are to end, add --replace"
        )


def _heads(session: Session) -> dict[str, _Head]:
    heads = {}
    for row in session.run("open_versions"):
        name = row.pop("name")
        heads[name] = _Head(**row)
    return heads


def _unchanged(heads: dict[str, _Head], hashes: dict[str, str]) -> bool:
    in_force = {name: h.timing_hash for name, h in heads.items() if h.timing_hash is not None}
    return in_force == hashes


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
    opened: Sequence[Schedule],
    ended: Sequence[_Head],
    heads: dict[str, _Head],
    tzdata: str,
    moment: datetime,
) -> None:
    closing = [head.id for head in ended]
    closing += [heads[s.id].id for s in opened if heads[s.id].timing_hash is not None]
    if closing:
        session.run("end_versions", {"ids": closing, "at": moment})
    if opened:
        session.run(
            "add_versions",
            {
                "ids": [heads[s.id].id for s in opened],
                "numbers": [heads[s.id].highest + 1 for s in opened],
                "hashes": [timing_hash(s.timing) for s in opened],
                "specs": [json.dumps(to_spec(s.timing)) for s in opened],
                "tzdata": tzdata,
                "at": moment,
            },
        )


def _queues(queues: Sequence[QueueSpec]) -> dict[str, Any]:
    return {
        "names": [queue.name for queue in queues],
        "objectives": [queue.objective for queue in queues],
        "leases": [queue.lease for queue in queues],
        "max_attempts": [queue.max_attempts for queue in queues],
        "timeouts": [queue.timeout for queue in queues],
        "backoff_bases": [queue.backoff_base for queue in queues],
        "backoff_caps": [queue.backoff_cap for queue in queues],
    }
