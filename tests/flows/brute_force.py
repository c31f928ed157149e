"""What a report must say of each key, by looking at every minute and at raw rows one by one.

Shares no code with the source: what is owed comes from `oracle`, what is there from the tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from oracle import Expression, Policies, pinned, walk

Row = dict[str, Any]
Verdict = tuple[str, str | None, str, str | None]  # class, reason, fate, cause

ROWS = """
    select extract(epoch from o.logical_time)::bigint as epoch, o.recorded_at, o.via, o.final_state,
           o.finished_at, x.state as outcome, x.finished_at as outcome_at, j.id is not null as body,
           l.job_id is not null as leased, r.job_id is not null as ready,
           d.attempt, d.eligible_at
      from cronledger.occurrence o
      left join cronledger.job j on j.id = o.job_id
      left join cronledger.outcome x on x.job_id = o.job_id
      left join cronledger.lease l on l.job_id = o.job_id
      left join cronledger.ready r on r.job_id = o.job_id
      left join cronledger.deferred d on d.job_id = o.job_id
"""
RANGES = "select from_time, to_time, reason from cronledger.left_out order by from_time"
SUPPRESSING = ("paused", "skipped", "overlap")


@dataclass
class Edition:
    """A cron and a zone in force from an instant on."""

    since: datetime
    cron: str
    zone: str

    def owed(self, start: datetime, end: datetime) -> set[int]:
        """What it would owe, in force or not."""
        minute, hour, day, month, weekday = self.cron.split()
        expression = Expression(minute, hour, day, month, weekday)
        found = walk(expression, Policies(), pinned(self.zone), _epoch(start), _epoch(end))
        return set(found)


@dataclass
class Truth:
    """A schedule's story as the test told it, and what the database holds at the end."""

    grace: timedelta
    objective: timedelta
    editions: list[Edition] = field(default_factory=list)
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)
    dropped_to: datetime | None = None

    def verdicts(
        self, rows: list[Row], ranges: list[Row], start: datetime, now: datetime
    ) -> dict[int, Verdict]:
        """By epoch, for every key owed or recorded from `start` to `now`."""
        end = now + timedelta(seconds=1)
        owed = [edition.owed(start, end) for edition in self.editions]
        recorded = {row["epoch"]: row for row in rows}
        found: dict[int, Verdict] = {}
        for epoch in sorted(set[int]().union(recorded, *owed)):
            at = datetime.fromtimestamp(epoch, UTC)
            rules = [n for n, edition in enumerate(self.editions) if edition.since <= at]
            is_owed = bool(rules) and epoch in owed[rules[-1]]
            row = recorded.get(epoch)
            if row is not None:
                cause = None if is_owed else self._cause(epoch, owed, rules)
                found[epoch] = self._recorded(at, row, now, cause)
            elif is_owed and (verdict := self._absent(at, ranges, now)):
                found[epoch] = verdict
        return found

    def _absent(self, at: datetime, ranges: list[Row], now: datetime) -> Verdict | None:
        reasons = [r["reason"] for r in ranges if r["from_time"] <= at < r["to_time"]]
        if not reasons and any(start <= at < end for start, end in self.pauses):
            reasons = ["paused"]
        if reasons:
            word = "suppressed" if reasons[0] in SUPPRESSING else "omitted"
            return word, reasons[0], word, None
        if self.dropped_to is not None and at < self.dropped_to:
            return "pruned", None, "pruned", None
        return ("missing", None, "missing", None) if now - at > self.grace else None

    def _recorded(self, at: datetime, row: Row, now: datetime, cause: str | None) -> Verdict:
        state, ended = _state(row, now)
        if cause is not None:
            return "unexpected", None, "unexpected", cause
        if row["via"] == "external":
            state, ended = "completed", row["recorded_at"]
        if state in ("orphaned", "dead", "cancelled"):
            return state, None, state, None
        fate = state
        if state == "completed":
            assert ended is not None
            fate = f"completed_{'late' if ended - at > self.objective else 'on_time'}"
        if row["recorded_at"] - at > self.grace:
            return "late", None, fate, None
        return ("completed" if state == "completed" else "running"), None, fate, None

    def _cause(self, epoch: int, owed: list[set[int]], rules: list[int]) -> str:
        others = [n for n in range(len(owed)) if epoch in owed[n]]
        if not rules or not others:
            return "second_producer"
        cron = self.editions[rules[-1]].cron
        same = any(self.editions[n].cron == cron for n in others)
        return "zone_edit" if same else "expression_edit"


def _state(row: Row, now: datetime) -> tuple[str, datetime | None]:
    """The state of its job, `orphaned` if that is nowhere, and when it ended."""
    if row["final_state"] is not None:
        return row["final_state"], row["finished_at"]
    if row["body"] and row["outcome"] is not None:
        return row["outcome"], row["outcome_at"]
    return _waiting(row, now) if row["body"] else "orphaned", None


def _waiting(row: Row, now: datetime) -> str:
    if row["leased"]:
        return "running"
    if row["ready"] or (row["eligible_at"] is not None and row["eligible_at"] <= now):
        return "eligible"
    if row["attempt"] is None:
        return "orphaned"
    return "retrying" if row["attempt"] else "scheduled"


def _epoch(at: datetime) -> int:
    return int(at.timestamp())
