"""Which metrics exist, what labels they take, and how replicas are folded. The table: `families`.

Exposition, rules, alerts, dashboards and docs/metrics.md are all checked against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cronledger.core.distribution import OF_ATTEMPTS, OF_PASSES, OF_SPANS, OF_STARTS
from cronledger.core.families import MEASURED
from cronledger.core.families_counted import COUNTED
from cronledger.core.snapshot import QueuedState, ScheduleState


class MetricType(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class Source(StrEnum):
    """Who knows the value. Replicas agree on all but PROCESS: fold those by max, PROCESS by sum."""

    FILE = "file"
    DB = "db"
    LEDGER = "ledger"
    PROCESS = "process"


class Tier(StrEnum):
    """CORE is bounded by queues and kinds; SCHEDULE has one set of series per schedule."""

    CORE = "core"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Metric:
    """One exported family. `values` names the labels whose values are a closed set; `bounds` are
    the upper bounds of the buckets of a histogram."""

    name: str
    type: MetricType
    source: Source
    labels: tuple[str, ...]
    help: str
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: tuple[float, ...] = ()

    @property
    def tier(self) -> Tier:
        return Tier.SCHEDULE if "schedule" in self.labels else Tier.CORE

    @property
    def unit(self) -> str:
        """The base unit of the value; "" for a plain number. A timestamp is in seconds too."""
        return "seconds" if self.name.endswith("_seconds") else ""


# So many kinds have series of their own; all others are one, by this name.
KINDS_MAX = 200
OTHER = "__other__"

_CLOSED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("cronledger_schedules", "state"): tuple(ScheduleState),
    ("cronledger_queue_jobs", "state"): tuple(QueuedState),
    ("cronledger_occurrences_recorded_total", "via"): ("tick", "backfill", "manual", "external"),
    ("cronledger_occurrences_abandoned_total", "reason"): (
        "outside_window",
        "over_limit",
        "policy_none",
        "coalesced",
    ),
    ("cronledger_occurrences_skipped_total", "reason"): (
        "dst_gap",
        "dst_fold",
        "paused",
        "skipped",
        "excluded",
        "overlap",
    ),
    ("cronledger_jobs_finished_total", "outcome"): ("completed", "dead", "cancelled"),
    ("cronledger_attempts_total", "outcome"): (
        "completed",
        "retry",
        "dead",
        "cancelled",
        "lease_expired",
    ),
    ("cronledger_job_execution_seconds", "outcome"): (
        "completed",
        "retry",
        "dead",
        "cancelled",
        "lease_expired",
    ),
    ("cronledger_deliveries_total", "result"): (
        "on_time",
        "late",
        "dead",
        "cancelled",
        "abandoned",
    ),
    ("cronledger_reconcile_duration_seconds", "phase"): (
        "expand",
        "compare",
        "enqueue",
        "measure",
    ),
    ("cronledger_lease_extensions_total", "outcome"): ("ok", "lost"),
    ("cronledger_reconcile_runs_total", "outcome"): ("ok", "error", "not_leader"),
    ("cronledger_web_config_reloads_total", "outcome"): ("ok", "error"),
    ("cronledger_pings_total", "outcome"): ("ok", "error"),
}

_BOUNDS: Mapping[str, tuple[float, ...]] = {
    "cronledger_enqueue_lag_seconds": OF_SPANS,
    "cronledger_job_wait_seconds": OF_SPANS,
    "cronledger_job_execution_seconds": OF_SPANS,
    "cronledger_job_claim_to_start_seconds": OF_STARTS,
    "cronledger_job_attempts": OF_ATTEMPTS,
    "cronledger_reconcile_duration_seconds": OF_PASSES,
}

CATALOGUE: Mapping[str, Metric] = {
    name: Metric(
        name,
        MetricType(kind),
        Source(source),
        labels,
        text,
        {label: _CLOSED[name, label] for label in labels if (name, label) in _CLOSED},
        _BOUNDS.get(name, ()),
    )
    for kind, source, labels, table in (*MEASURED, *COUNTED)
    for name, text in table.items()
}
