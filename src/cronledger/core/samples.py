"""Which samples the facts amount to: timestamps, never ages; declared sets at 0; unknown is absent.

A ledger counter is absent, not 0, until the ledger was read: a 0 before the true value would look
like a reset, and the whole value like an increase.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice, product
from math import nan
from typing import TypeAlias

from cronledger.core.catalogue import CATALOGUE, KINDS_MAX, Metric, MetricType, Source
from cronledger.core.distribution import Distribution
from cronledger.core.routing import DEFAULT_CLASS
from cronledger.core.snapshot import (
    DeclaredSchedule,
    DriftFacts,
    Facts,
    FileFacts,
    LedgerSnapshot,
    ProcessFacts,
    QueuedState,
    QueueFacts,
    ScheduleFacts,
    ScheduleState,
)

# Connection trouble, rollbacks, resources, operator intervention: there from the first scrape.
USUAL_SQLSTATE_CLASSES = ("08", "40", "53", "57")


# Known label sets of a histogram are nineteen series each, so most of its outcomes wait for their
# first observation.
USUAL_OUTCOMES = ("completed",)

Series: TypeAlias = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One series (all of one histogram): family, label values in catalogue order, value."""

    metric: str
    labels: tuple[str, ...]
    value: float | Distribution


def samples_of(facts: Facts) -> Iterator[Sample]:
    """Every sample of one exposition, each series once, in no promised order."""
    yield from _of_file(facts.file)
    for declared in facts.file.schedules:
        if facts.shows(declared.schedule):
            yield from _of_declared(declared)
    yield Sample("cronledger_metrics_schedules_omitted", (), facts.omitted)
    yield from _of_process(facts.process, facts.file)
    yield Sample("cronledger_snapshot_timestamp_seconds", (), _taken_at(facts.ledger))
    if facts.ledger is not None:
        yield from _of_queues(facts.ledger, facts.file)
        yield from _of_schedules(facts.ledger, facts)
        yield from _of_counters(facts.ledger, facts.file)
        yield Sample(
            "cronledger_reconcile_last_success_timestamp_seconds",
            (),
            _epoch(facts.ledger.last_reconcile),
        )
    ours = {schedule.schedule for schedule in facts.file.schedules}
    yield from chain.from_iterable(
        _of_drift(drift)
        for drift in facts.drift
        if drift.schedule in ours and facts.shows(drift.schedule)
    )


def _epoch(instant: datetime | None) -> float:
    return nan if instant is None else instant.timestamp()


def _seconds(span: timedelta | None) -> float:
    return nan if span is None else span.total_seconds()


def _taken_at(ledger: LedgerSnapshot | None) -> float:
    return nan if ledger is None else ledger.taken_at.timestamp()


def _of_file(file: FileFacts) -> Iterator[Sample]:
    states = Counter(schedule.state for schedule in file.schedules)
    for state in ScheduleState:
        yield Sample("cronledger_schedules", (state,), states[state])
    for queue in file.queues:
        yield Sample(
            "cronledger_queue_delivery_objective_seconds",
            (queue.queue,),
            _seconds(queue.objective),
        )
    yield Sample("cronledger_config_info", (file.digest,), 1)


def _of_declared(schedule: DeclaredSchedule) -> Iterator[Sample]:
    name = (schedule.schedule,)
    info = (
        schedule.schedule,
        schedule.queue,
        schedule.kind,
        schedule.timezone,
        schedule.severity,
        schedule.team,
        schedule.schedule_class,
        schedule.runbook,
    )
    yield Sample("cronledger_schedule_info", info, 1)
    yield Sample("cronledger_schedule_paused", name, float(schedule.state is ScheduleState.PAUSED))
    yield Sample(
        "cronledger_schedule_delivery_objective_seconds", name, _seconds(schedule.objective)
    )
    yield Sample("cronledger_schedule_grace_seconds", name, _seconds(schedule.grace))
    yield Sample(
        "cronledger_schedule_next_occurrence_timestamp_seconds",
        name,
        _epoch(schedule.next_occurrence),
    )
    yield Sample("cronledger_schedule_last_due_timestamp_seconds", name, _epoch(schedule.last_due))


def _of_process(process: ProcessFacts, file: FileFacts) -> Iterator[Sample]:
    yield Sample("cronledger_build_info", (process.version, process.revision, process.python), 1)
    yield Sample("cronledger_tzdata_info", (process.tzdata,), 1)
    for name, value in _process_gauges(process):
        yield Sample(name, (), value)
    for collector, worked in process.collectors.items():
        yield Sample("cronledger_collector_success", (collector,), float(worked))
    for name, counts in (
        ("cronledger_reconcile_runs_total", process.reconcile_runs),
        ("cronledger_web_config_reloads_total", process.web_reloads),
        ("cronledger_pings_total", process.pings),
    ):
        for outcome, count in _from_zero(CATALOGUE[name].values["outcome"], counts):
            yield Sample(name, (outcome,), count)
    yield Sample("cronledger_leader_transitions_total", (), process.leader_transitions)
    for sqlstate, errors in _from_zero(USUAL_SQLSTATE_CLASSES, process.database_errors):
        yield Sample("cronledger_database_errors_total", (sqlstate,), errors)
    for name, count in _from_zero(_classes(file), process.duplicates_suppressed):
        yield Sample("cronledger_occurrence_duplicates_suppressed_total", (name,), count)
    durations = CATALOGUE["cronledger_reconcile_duration_seconds"]
    for phase in durations.values["phase"]:
        spent = process.durations.get(phase, Distribution.empty(durations.bounds))
        yield Sample(durations.name, (phase,), spent)


def _process_gauges(process: ProcessFacts) -> Iterator[tuple[str, float]]:
    yield "cronledger_reconcile_interval_seconds", _seconds(process.reconcile_interval)
    yield "cronledger_snapshot_duration_seconds", _seconds(process.snapshot_duration)
    yield "cronledger_clock_skew_seconds", _seconds(process.clock_skew)
    yield "cronledger_config_last_reload_successful", float(process.reload_successful)
    yield (
        "cronledger_config_last_reload_success_timestamp_seconds",
        _epoch(process.reloaded_at),
    )
    if process.database_up is not None:
        yield "cronledger_database_up", float(process.database_up)
    if process.leads is not None:
        yield "cronledger_leader", float(process.leads)


def _from_zero(names: Iterable[str], counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    return iter((dict.fromkeys(names, 0) | dict(counts)).items())


def _of_queues(ledger: LedgerSnapshot, file: FileFacts) -> Iterator[Sample]:
    found = {queue.queue: QueueFacts(queue.queue, {}) for queue in file.queues}
    found |= {queue.queue: queue for queue in ledger.queues}
    for queue in found.values():
        yield from _of_queue(queue)


def _of_queue(queue: QueueFacts) -> Iterator[Sample]:
    name = (queue.queue,)
    for state in QueuedState:
        yield Sample("cronledger_queue_jobs", (queue.queue, state), queue.jobs.get(state, 0))
    yield Sample("cronledger_queue_claims_paused", name, float(queue.claims_paused))
    left = nan if queue.budget_left is None else queue.budget_left
    yield Sample("cronledger_retry_budget_remaining_ratio", name, left)
    for metric, instant in (
        ("cronledger_queue_oldest_eligible_timestamp_seconds", queue.oldest_eligible),
        ("cronledger_queue_oldest_unfinished_timestamp_seconds", queue.oldest_unfinished),
        ("cronledger_queue_oldest_lease_timestamp_seconds", queue.oldest_lease),
        ("cronledger_queue_oldest_expired_lease_timestamp_seconds", queue.oldest_expired_lease),
        ("cronledger_queue_oldest_dead_letter_timestamp_seconds", queue.oldest_dead_letter),
    ):
        yield Sample(metric, name, _epoch(instant))


def _of_schedules(ledger: LedgerSnapshot, facts: Facts) -> Iterator[Sample]:
    # A schedule that left the file vanishes here, whatever the ledger remembers of it.
    recorded = {schedule.schedule: schedule for schedule in ledger.schedules}
    missing = {drift.schedule: drift.oldest_missing for drift in facts.drift}
    for name in (s.schedule for s in facts.file.schedules if facts.shows(s.schedule)):
        found = recorded.get(name, ScheduleFacts(name))
        yield Sample(
            "cronledger_schedule_last_recorded_timestamp_seconds",
            (name,),
            _epoch(found.last_recorded),
        )
        yield Sample(
            "cronledger_schedule_last_success_timestamp_seconds",
            (name,),
            _epoch(found.last_success),
        )
        # A key that was never recorded is unfinished too, and must age.
        instants = [t for t in (found.oldest_unfinished, missing.get(name)) if t is not None]
        yield Sample(
            "cronledger_schedule_oldest_unfinished_timestamp_seconds",
            (name,),
            _epoch(min(instants, default=None)),
        )


def _of_drift(drift: DriftFacts) -> Iterator[Sample]:
    name = (drift.schedule,)
    yield Sample("cronledger_schedule_missing_occurrences", name, drift.missing)
    yield Sample(
        "cronledger_schedule_oldest_missing_timestamp_seconds", name, _epoch(drift.oldest_missing)
    )
    yield Sample("cronledger_schedule_unexpected_occurrences", name, drift.unexpected)
    yield Sample("cronledger_schedule_orphaned_occurrences", name, drift.orphaned)


def _of_counters(ledger: LedgerSnapshot, file: FileFacts) -> Iterator[Sample]:
    counted: dict[Series, float | Distribution] = {
        (reading.metric, reading.labels): reading.value for reading in ledger.counters
    }
    counted |= {(reading.metric, reading.labels): reading.value for reading in ledger.histograms}
    heads = _Heads.of(file, counted)
    values = dict(chain.from_iterable(heads.declared(metric) for metric in CATALOGUE.values()))
    for (metric, labels), value in (values | counted).items():
        yield Sample(metric, labels, value)


def _classes(file: FileFacts) -> list[str]:
    """Every class that the file names, and the one of schedules that name none."""
    return sorted({schedule.schedule_class for schedule in file.schedules} | {DEFAULT_CLASS})


@dataclass(frozen=True, slots=True)
class _Heads:
    """The first labels of what the file lets expect: of jobs, of queues, of occurrences."""

    kinds: tuple[tuple[str, ...], ...]
    queues: tuple[tuple[str, ...], ...]
    classes: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(file: FileFacts, counted: Iterable[Series]) -> _Heads:
        # Beyond the limit a kind may be one of the others: a 0 under its own name would be false.
        seen = {labels[1] for metric, labels in counted if "kind" in CATALOGUE[metric].labels}
        pairs = dict.fromkeys((schedule.queue, schedule.kind) for schedule in file.schedules)
        fresh = dict.fromkeys(kind for _, kind in pairs if kind not in seen)
        shown = seen.union(islice(fresh, max(KINDS_MAX - len(seen), 0)))
        return _Heads(
            tuple(pair for pair in pairs if pair[1] in shown),
            tuple((queue.queue,) for queue in file.queues),
            tuple((name,) for name in _classes(file)),
        )

    def declared(self, metric: Metric) -> Iterator[tuple[Series, float | Distribution]]:
        """Every series of a durable metric that the file lets expect, with nothing counted."""
        if metric.source is not Source.LEDGER:
            return
        heads = self.classes
        if "kind" in metric.labels:
            heads = self.kinds
        elif "queue" in metric.labels:
            heads = self.queues
        of_none: float | Distribution = 0
        closed = [metric.values[label] for label in metric.labels if label in metric.values]
        if metric.type is MetricType.HISTOGRAM:
            of_none = Distribution.empty(metric.bounds)
            closed = [USUAL_OUTCOMES for _ in closed]
        for head in heads:
            for tail in product(*closed):
                yield (metric.name, (*head, *tail)), of_none
