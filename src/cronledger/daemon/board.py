"""What the loops of one sidecar know, for each other and for the endpoints.

Each field is written by one thread and replaced whole, so a reader sees the old or the new.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from cronledger.core.distribution import OF_PASSES, Distribution
from cronledger.core.events import (
    Enqueued,
    Event,
    Followed,
    LoopFailed,
    PingFailed,
    PingSent,
    Reconciled,
    WebReloaded,
    WebReloadFailed,
)
from cronledger.core.exposition import Exposition
from cronledger.core.routing import DEFAULT_CLASS
from cronledger.core.schedule import ScheduleFile, known_as
from cronledger.core.snapshot import DriftFacts, FileFacts, LedgerSnapshot, ProcessFacts

COLLECTOR = "ledger"


@dataclass(slots=True)
class Board:
    """The file in force, the last readings, and this process's own counts."""

    file: ScheduleFile
    version: str
    tzdata: str
    reconcile_interval: timedelta
    reloaded_at: datetime
    file_noted: bool = False
    ticked: bool = False
    reload_successful: bool = True
    disputed: tuple[str, ...] = ()
    # None: nobody has said yet whether we lead.
    leads: bool | None = None
    leader_transitions: int = 0
    drift: tuple[DriftFacts, ...] = ()
    file_facts: FileFacts | None = None
    ledger: LedgerSnapshot | None = None
    exposition: Exposition | None = None
    measured_at: timedelta | None = None
    database_up: bool | None = None
    clock_skew: timedelta | None = None
    snapshot_duration: timedelta | None = None
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _durations: dict[str, Distribution] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def observe(self, event: Event) -> None:
        """Count what this process exports of itself."""
        match event:
            case Enqueued(schedule=name, duplicates=duplicates) if duplicates:
                self._count("duplicates", self._class_of(name), duplicates)
            case Reconciled():
                self._count("reconcile", "ok", 1)
            case Followed():
                self._count("reconcile", "not_leader", 1)
            case LoopFailed(loop=loop, sqlstate=sqlstate):
                if loop == "reconcile":
                    self._count("reconcile", "error", 1)
                self._count("database", sqlstate[:2] or "none", 1)
            case WebReloaded() | WebReloadFailed():
                self._count("web", "ok" if isinstance(event, WebReloaded) else "error", 1)
            case PingSent() | PingFailed():
                self._count("ping", "ok" if isinstance(event, PingSent) else "error", 1)
            case _:
                pass  # the rest is for logs

    def spent(self, phases: Mapping[str, timedelta]) -> None:
        """A pass is over, and took so long in each of its phases."""
        with self._lock:
            for phase, span in phases.items():
                so_far = self._durations.get(phase) or Distribution.empty(OF_PASSES)
                self._durations[phase] = so_far.observed(span.total_seconds())

    def process_facts(self) -> ProcessFacts:
        """What this process knows of itself."""
        with self._lock:
            counts, durations = Counter(self._counts), dict(self._durations)
        return ProcessFacts(
            version=self.version,
            python=platform.python_version(),
            tzdata=self.tzdata,
            leads=self.leads,
            leader_transitions=self.leader_transitions,
            reconcile_interval=self.reconcile_interval,
            reconcile_runs=_of("reconcile", counts),
            collectors={COLLECTOR: bool(self.database_up)},
            database_up=self.database_up,
            database_errors=_of("database", counts),
            clock_skew=self.clock_skew,
            snapshot_duration=self.snapshot_duration,
            duplicates_suppressed=_of("duplicates", counts),
            durations=durations,
            web_reloads=_of("web", counts),
            pings=_of("ping", counts),
            reload_successful=self.reload_successful and not self.disputed,
            reloaded_at=self.reloaded_at,
        )

    def why_not_ready(self, elapsed: Callable[[], timedelta], patience: timedelta) -> list[str]:
        """Reasons why this sidecar cannot do its work now; none means that it can."""
        reasons = []
        if not self.file_noted:
            reasons.append("the schedule file is not in the ledger yet")
        if self.disputed:
            names = ", ".join(self.disputed[:5])
            reasons.append(f"another file ended schedules of ours in the ledger: {names}")
        if not self.database_up:
            reasons.append("the last measurement did not reach the database")
        if self.measured_at is None or elapsed() - self.measured_at > patience:
            reasons.append(f"nothing was measured for {patience.total_seconds():g} s")
        return reasons

    def _class_of(self, name: str) -> str:
        schedule = known_as(self.file.schedules).get(name)
        return schedule.routing.schedule_class if schedule is not None else DEFAULT_CLASS

    def _count(self, what: str, label: str, n: int) -> None:
        with self._lock:
            self._counts[what, label] += n


def _of(what: str, counts: Counter[tuple[str, str]]) -> dict[str, int]:
    return {label: n for (kind, label), n in counts.items() if kind == what}
