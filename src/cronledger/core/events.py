"""Facts that flows and the worker emit; logs and counters listen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from cronledger.core.lifecycle import Lease, Settlement
from cronledger.core.plan import LeftOut
from cronledger.core.retention import Pruned


@dataclass(frozen=True, slots=True)
class VersionsNoted:
    """Loading a file opened versions of some schedules or ended others (names).

    `late`: opened ones that the file dates earlier than they could be in force.
    """

    opened: tuple[str, ...]
    ended: tuple[str, ...]
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Occurrences were written. `duplicates`: keys that another process had written meanwhile."""

    schedule: str
    epochs: tuple[int, ...]
    duplicates: int


@dataclass(frozen=True, slots=True)
class KeysLeftOut:
    """Expected keys of a schedule were left out."""

    schedule: str
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A reconcile over every schedule ended: how many keys are in each class that matters."""

    missing: int
    unexpected: int
    orphaned: int
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Followed:
    """Another sidecar leads, and reconciled last at that time; `fresh`: as often as it should."""

    reconciled_at: datetime | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class Attempted:
    """One attempt ended. `error_class` is None for a completed one.

    `error_at` is the place where its exception was raised, such as `jobs.py:42 in report`.
    """

    lease: Lease
    settlement: Settlement
    duration: timedelta
    error_class: str | None = None
    error: str = ""
    error_at: str | None = None


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """A lease was not extended in time; its handler is cancelled and barred from settling."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Rescued:
    """Expired leases were taken back."""

    count: int


@dataclass(frozen=True, slots=True)
class HistoryPruned:
    """What the retention lets go is gone."""

    pruned: Pruned


@dataclass(frozen=True, slots=True)
class LoopFailed:
    """A loop's pass failed and will be tried again after `delay`."""

    loop: str
    error: str
    sqlstate: str
    delay: timedelta


@dataclass(frozen=True, slots=True)
class LoopRecovered:
    """A loop's pass worked again, after so many failures in a row."""

    loop: str
    failures: int


@dataclass(frozen=True, slots=True)
class FileReloaded:
    """The schedule file was loaded again and is in force."""

    path: str
    digest: str
    schedules: int


@dataclass(frozen=True, slots=True)
class ReloadFailed:
    """The new file is broken; the old one stays in force. `problems` one a line."""

    path: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WebReloaded:
    """The web config or one of its certificates was loaded again and is in force."""

    path: str


@dataclass(frozen=True, slots=True)
class WebReloadFailed:
    """The new web config or certificate cannot be used; the old one stays in force."""

    path: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PingFailed:
    """A ping to whoever watches from outside did not arrive. `failures`: so many in a row."""

    reason: str
    failures: int


@dataclass(frozen=True, slots=True)
class PingSent:
    """A ping arrived. `failures`: so many before it did not."""

    failures: int


@dataclass(frozen=True, slots=True)
class TelemetryFailed:
    """A collector did not take what it was sent. `signal`: traces, metrics, or what else failed;
    `failures`: so many in a row."""

    signal: str
    reason: str
    failures: int


@dataclass(frozen=True, slots=True)
class TelemetrySent:
    """A collector took a signal again. `failures`: so many before it did not."""

    signal: str
    failures: int


@dataclass(frozen=True, slots=True)
class Disputed:
    """Schedules of the file in force were ended in the ledger by another file."""

    schedules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A process started, drains or stopped. `detail` names what a person wants to know of it."""

    what: str
    detail: str


Event: TypeAlias = (
    VersionsNoted
    | Enqueued
    | KeysLeftOut
    | Reconciled
    | Followed
    | Attempted
    | LeaseLost
    | Rescued
    | HistoryPruned
    | LoopFailed
    | LoopRecovered
    | FileReloaded
    | ReloadFailed
    | WebReloaded
    | WebReloadFailed
    | PingFailed
    | PingSent
    | TelemetryFailed
    | TelemetrySent
    | Disputed
    | Lifecycle
)
