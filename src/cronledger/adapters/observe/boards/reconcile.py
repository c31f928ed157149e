"""The board of the ledger itself: gaps, its arithmetic, and how the sidecars that keep it are."""

from __future__ import annotations

from cronledger.adapters.observe.boards.parts import (
    ANNOTATIONS,
    ANY_IS_GREEN,
    JOB,
    JOB_VARIABLE,
    SCHEDULE,
    SCHEDULE_VARIABLE,
    increase,
    lines,
    of_processes,
    within,
)
from cronledger.adapters.observe.panels import Dashboard, Panel, Query, Row


def reconcile() -> Dashboard:
    """dashboards/reconcile.json."""
    return Dashboard(
        uid="cronledger-reconcile",
        title="cronledger / Reconcile and gaps",
        description="What is missing, why, and whether the sidecars can be believed.",
        span="now-7d",
        variables=(JOB_VARIABLE, SCHEDULE_VARIABLE),
        annotations=ANNOTATIONS,
        rows=(_gaps(), _arithmetic(), _times(), _sidecar(), _replicas()),
    )


def _table(title: str, description: str, expr: str, unit: str = "none", width: int = 12) -> Panel:
    return Panel("table", title, description, (Query(expr, instant=True),), unit, width=width)


def _gaps() -> Row:
    missing = f"schedule:cronledger_missing_occurrences:max{{{SCHEDULE}}}"
    oldest = f"cronledger_schedule_oldest_missing_timestamp_seconds{{{SCHEDULE}}}"
    return Row(
        "Gaps",
        (
            Panel(
                "status-history",
                "Gaps by schedule",
                "A cell with a number: so many keys are missing; `cronledger backfill` shows and"
                " fills them.",
                (Query(missing, "{{schedule}}"),),
                width=24,
                thresholds={0: "green", 1: "red"},
            ),
            _table(
                "Oldest gap by schedule",
                "Before the lookback of the sidecar ends, backfill it, or it is seen no more.",
                f"1000 * max by (schedule) ({oldest} > 0)",
                "dateTimeFromNow",
            ),
            _table(
                "Unexpected records",
                "An edit or another time zone, a second producer, a renamed schedule:"
                " `cronledger reconcile` lists the keys.",
                f"schedule:cronledger_unexpected_occurrences:max{{{SCHEDULE}}} > 0",
            ),
        ),
    )


def _arithmetic() -> Row:
    return Row(
        "Ledger arithmetic",
        (
            lines(
                "Left out on purpose by reason",
                "More than you meant: read `pause`, `skip`, `except` and `overlap` in the file.",
                Query(
                    increase("cronledger_occurrences_skipped_total", JOB, "reason"), "{{reason}}"
                ),
            ),
            lines(
                "Records by who made them",
                "Backfills by hand that grow: the tick is not alive, or too slow.",
                Query(increase("cronledger_occurrences_recorded_total", JOB, "via"), "{{via}}"),
            ),
            lines(
                "Duplicate enqueues that the key refused",
                "A few are two sidecars at once. Many, for long: two files fight over a schedule.",
                Query(
                    of_processes("cronledger_occurrence_duplicates_suppressed_total", JOB, "class"),
                    "{{class}}",
                ),
            ),
            lines(
                "Reconciles by outcome",
                "Errors: the log line `loop_failed` says what the database said.",
                Query(
                    of_processes("cronledger_reconcile_runs_total", JOB, "outcome"), "{{outcome}}"
                ),
            ),
        ),
    )


def _times() -> Row:
    return Row(
        "How long it takes",
        (
            lines(
                "Enqueue lag by class (95 of 100 stay within)",
                "From the due time to the record. Minutes: the tick is too slow, or was away.",
                Query(within(0.95, "cronledger_enqueue_lag_seconds", JOB, "class"), "{{class}}"),
                unit="s",
            ),
            lines(
                "Time of passes by phase (95 of 100 stay within)",
                "Grows with the schedules; near the interval, passes come late. `cronledger doctor`"
                " looks at the database.",
                Query(
                    "histogram_quantile(0.95, sum by (phase, le) (rate("
                    f"cronledger_reconcile_duration_seconds_bucket{{{JOB}}}[$__rate_interval])))",
                    "{{phase}}",
                ),
                unit="s",
            ),
        ),
    )


def _sidecar() -> Row:
    return Row(
        "Sidecars",
        (
            lines(
                "Snapshot age by replica",
                "Climbs: that replica measures no more, and what it shows is old.",
                Query(f"time() - cronledger_snapshot_timestamp_seconds{{{JOB}}}", "{{instance}}"),
                unit="s",
            ),
            lines(
                "Snapshot duration by replica",
                "Grows with what is active, never with history; if it does, `cronledger doctor`.",
                Query(f"cronledger_snapshot_duration_seconds{{{JOB}}}", "{{instance}}"),
                unit="s",
            ),
            lines(
                "Clock skew by replica",
                "The database's clock decides; set this host's right, or its times mislead people.",
                Query(f"cronledger_clock_skew_seconds{{{JOB}}}", "{{instance}}"),
                unit="s",
            ),
            lines(
                "Database errors by class",
                "08 is a lost connection, 40 a conflict that was tried again, 53 a server that is"
                " full, 57 one that shuts down.",
                Query(
                    of_processes("cronledger_database_errors_total", JOB, "sqlstate_class"),
                    "{{sqlstate_class}}",
                ),
            ),
        ),
    )


def _replicas() -> Row:
    return Row(
        "Replicas",
        (
            Panel(
                "state-timeline",
                "Collectors",
                "0: this part of the measurement failed; the log says why.",
                (
                    Query(
                        f"min by (collector) (cronledger_collector_success{{{JOB}}})",
                        "{{collector}}",
                    ),
                ),
                width=24,
                height=4,
                thresholds=ANY_IS_GREEN,
            ),
            lines(
                "Which replica leads",
                "One at 1, the others at 0. It reconciles and measures for all; every one ticks.",
                Query(f"cronledger_leader{{{JOB}}}", "{{instance}}"),
            ),
            lines(
                "Healthy schedules without metrics of their own",
                "Above 0: `--per-schedule-max` leaves them out; they are shown once unhealthy.",
                Query(f"cronledger_metrics_schedules_omitted{{{JOB}}}", "{{instance}}"),
            ),
            _table(
                "Build by replica",
                "Replicas of two versions are fine for a rollout and no longer.",
                f"group by (instance, version, python) (cronledger_build_info{{{JOB}}})",
            ),
            _table(
                "Schedule file by replica",
                "Two digests: two files take turns in the ledger. Give all replicas the same.",
                f"group by (instance, sha256) (cronledger_config_info{{{JOB}}})",
            ),
        ),
    )
