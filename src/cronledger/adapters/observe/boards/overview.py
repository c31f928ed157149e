"""The board that somebody opens first.

The first row answers "is anything wrong now?", then the worst first, then latency, traffic, errors
and saturation.
"""

from __future__ import annotations

from collections.abc import Mapping

from cronledger.adapters.observe.boards.parts import (
    ANNOTATIONS,
    ANY_IS_RED,
    HALF_IS_YELLOW,
    JOB,
    JOB_VARIABLE,
    QUEUE,
    QUEUE_VARIABLE,
    increase,
)
from cronledger.adapters.observe.panels import Dashboard, Panel, Query, Row


def overview() -> Dashboard:
    """dashboards/overview.json."""
    return Dashboard(
        uid="cronledger-overview",
        title="cronledger / Overview",
        description="What is owed, what is missing, and what waits too long.",
        span="now-24h",
        variables=(JOB_VARIABLE, QUEUE_VARIABLE),
        annotations=ANNOTATIONS,
        rows=(
            _is_anything_wrong(),
            _worst_first(),
            _latency(),
            _traffic(),
            _errors(),
            _saturation(),
        ),
    )


def _is_anything_wrong() -> Row:
    past = f"schedule:cronledger_objective_used:ratio{{{JOB}}}"
    eligible = f"queue:cronledger_oldest_eligible_age_seconds:max{{{JOB}}}"
    objective = f"queue:cronledger_delivery_objective_seconds:max{{{JOB}}}"
    last = f"max by (job) (cronledger_reconcile_last_success_timestamp_seconds{{{JOB}}})"
    interval = f"max by (job) (cronledger_reconcile_interval_seconds{{{JOB}}})"
    return Row(
        "Is anything wrong now?",
        (
            _stat(
                "Schedules past their objective",
                "Not 0: find them below under Worst first, then run `cronledger reconcile`.",
                f"count({past} > 1) or vector(0)",
                ANY_IS_RED,
            ),
            _stat(
                "Missing occurrences",
                "Not 0: nothing was enqueued for them. `cronledger reconcile` names each key,"
                " `cronledger backfill` fills them.",
                f"sum(schedule:cronledger_missing_occurrences:max{{{JOB}}}) or vector(0)",
                ANY_IS_RED,
            ),
            _used(
                "Worst objective used",
                "Age of the oldest unfinished occurrence over its objective. At 100 % it is late;"
                " `cronledger reconcile` shows where it stands.",
                f"max({past}) or vector(0)",
            ),
            _used(
                "Worst queue objective used",
                "Age of the oldest claimable job over its queue's objective. At 100 % look for"
                " workers with `cronledger jobs list`.",
                f"max({eligible} / {objective}) or vector(0)",
            ),
            _used(
                "Reconcile silence used",
                "Time since the last reconcile over three of its intervals and a minute. At 100 %"
                " the counts on this page are old: see whether `cronledger run` is alive.",
                f"max((time() - {last}) / (3 * {interval} + 60))",
            ),
            _stat(
                "Database reached",
                "0: no replica reaches the database, and this page shows the last snapshot.",
                f"max(cronledger_database_up{{{JOB}}})",
                {0: "red", 1: "green"},
            ),
        ),
    )


def _stat(title: str, description: str, expr: str, thresholds: Mapping[float, str]) -> Panel:
    return Panel(
        "stat", title, description, (Query(expr),), width=4, height=4, thresholds=thresholds
    )


def _used(title: str, description: str, expr: str) -> Panel:
    return Panel(
        "gauge",
        title,
        description,
        (Query(expr),),
        "percentunit",
        width=4,
        height=4,
        thresholds=HALF_IS_YELLOW,
    )


def _worst_first() -> Row:
    return Row(
        "Worst first",
        (
            Panel(
                "table",
                "Schedules by objective used",
                "Run `cronledger reconcile FILE SCHEDULE` for the ones past 100 %.",
                (
                    Query(
                        f"topk(20, schedule:cronledger_objective_used:ratio{{{JOB}}})",
                        instant=True,
                    ),
                ),
                "percentunit",
                thresholds=HALF_IS_YELLOW,
            ),
            Panel(
                "table",
                "Schedules with missing occurrences",
                "Run `cronledger backfill FILE SCHEDULE` to see what it would fill.",
                (
                    Query(
                        f"topk(20, schedule:cronledger_missing_occurrences:max{{{JOB}}} > 0)",
                        instant=True,
                    ),
                ),
            ),
        ),
    )


def _latency() -> Row:
    return Row(
        "Latency",
        (
            Panel(
                "timeseries",
                "Oldest eligible age by queue, against its objective",
                "A line that climbs past its objective: workers are gone, stuck or too few.",
                (
                    Query(
                        f"queue:cronledger_oldest_eligible_age_seconds:max{{{QUEUE}}}",
                        "{{queue}}",
                    ),
                    Query(
                        f"queue:cronledger_delivery_objective_seconds:max{{{QUEUE}}}",
                        "{{queue}} objective",
                    ),
                ),
                "s",
            ),
            Panel(
                "timeseries",
                "Oldest unfinished age by schedule",
                "A line that climbs for hours: the run hangs, fails or is missing;"
                " `cronledger reconcile FILE SCHEDULE` says which.",
                (
                    Query(
                        f"topk(20, schedule:cronledger_oldest_unfinished_age_seconds:max{{{JOB}}})",
                        "{{schedule}}",
                    ),
                ),
                "s",
            ),
        ),
    )


def _traffic() -> Row:
    return Row(
        "Traffic",
        (
            Panel(
                "timeseries",
                "Expected and recorded",
                "The two lines follow each other; a gap between them is missing or omitted work.",
                (
                    Query(increase("cronledger_occurrences_expected_total", JOB, ""), "expected"),
                    Query(increase("cronledger_occurrences_recorded_total", JOB, ""), "recorded"),
                ),
            ),
            Panel(
                "timeseries",
                "Jobs created by queue",
                "A queue that falls silent while its schedules are due: look at the tick.",
                (Query(increase("cronledger_jobs_created_total", QUEUE, "queue"), "{{queue}}"),),
            ),
        ),
    )


def _errors() -> Row:
    return Row(
        "Errors",
        (
            Panel(
                "timeseries",
                "Deliveries by result",
                "Late, dead or abandoned ones that grow: `cronledger status`, worst first.",
                (Query(increase("cronledger_deliveries_total", JOB, "result"), "{{result}}"),),
                stacked=True,
            ),
            Panel(
                "timeseries",
                "Share of a class that was not on time, in an hour",
                "Above 14.4 % now and in the last minutes alerts; 1 % is what is allowed for.",
                (Query(f"class:cronledger_delivery_errors:ratio_rate1h{{{JOB}}}", "{{class}}"),),
                "percentunit",
            ),
            Panel(
                "timeseries",
                "Attempts by outcome",
                "Retries or expired leases that grow: read the worker's log lines by error class.",
                (Query(increase("cronledger_attempts_total", QUEUE, "outcome"), "{{outcome}}"),),
                stacked=True,
            ),
            Panel(
                "timeseries",
                "Given up for good by reason",
                "Occurrences that the catch-up policy omitted: `cronledger reconcile` lists them,"
                " `cronledger backfill` can still fill them.",
                (
                    Query(
                        increase("cronledger_occurrences_abandoned_total", JOB, "reason"),
                        "{{reason}}",
                    ),
                ),
                stacked=True,
            ),
        ),
    )


def _saturation() -> Row:
    return Row(
        "Saturation",
        (
            Panel(
                "timeseries",
                "Unfinished jobs by state (context only, never alerted on)",
                "How deep the queues are. Depth by itself is no fault: judge by the ages above.",
                (
                    Query(
                        f"sum by (state) (queue_state:cronledger_queue_jobs:max{{{QUEUE}}})",
                        "{{state}}",
                    ),
                ),
                width=24,
                stacked=True,
            ),
        ),
    )
