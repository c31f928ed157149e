"""The board of single schedules: when it was due, how far it came, and what of it is missing."""

from __future__ import annotations

from cronledger.adapters.observe.boards.parts import (
    ANNOTATIONS,
    HALF_IS_YELLOW,
    JOB_VARIABLE,
    SCHEDULE,
    SCHEDULE_VARIABLE,
    lines,
    moment,
)
from cronledger.adapters.observe.panels import Dashboard, Panel, Query, Row

_USED = f"schedule:cronledger_objective_used:ratio{{{SCHEDULE}}}"


def schedule() -> Dashboard:
    """dashboards/schedule.json."""
    return Dashboard(
        uid="cronledger-schedule",
        title="cronledger / Schedule",
        description="One schedule, or several side by side.",
        span="now-7d",
        variables=(JOB_VARIABLE, SCHEDULE_VARIABLE),
        annotations=ANNOTATIONS,
        rows=(_now(), _over_time(), _facts()),
    )


def _now() -> Row:
    return Row(
        "Where it stands",
        (
            Panel(
                "gauge",
                "Objective used",
                "At 100 % an occurrence is late: `cronledger reconcile FILE SCHEDULE` says which.",
                (Query(_USED, "{{schedule}}"),),
                "percentunit",
                width=6,
                height=4,
                thresholds=HALF_IS_YELLOW,
            ),
            moment(
                "Next due",
                "In the past: nobody ticks. See whether `cronledger run` is alive.",
                "cronledger_schedule_next_occurrence_timestamp_seconds",
            ),
            moment(
                "Last due",
                "Compare it with Last recorded: the two are the same when nothing is missing.",
                "cronledger_schedule_last_due_timestamp_seconds",
            ),
            moment(
                "Last recorded",
                "Behind Last due by more than the grace: `cronledger backfill FILE SCHEDULE`.",
                "cronledger_schedule_last_recorded_timestamp_seconds",
            ),
            moment(
                "Last success",
                "Long before Last due: `cronledger reconcile FILE SCHEDULE` says where they stand.",
                "cronledger_schedule_last_success_timestamp_seconds",
            ),
        ),
    )


def _over_time() -> Row:
    return Row(
        "Over time",
        (
            lines(
                "Age of the oldest unfinished occurrence, against its objective",
                "A line past its objective: the run hangs, fails or is missing;"
                " `cronledger explain KEY` says which.",
                Query(
                    f"schedule:cronledger_oldest_unfinished_age_seconds:max{{{SCHEDULE}}}",
                    "{{schedule}}",
                ),
                Query(
                    f"schedule:cronledger_delivery_objective_seconds:max{{{SCHEDULE}}}",
                    "{{schedule}} objective",
                ),
                unit="s",
            ),
            lines(
                "Missing and unexpected occurrences",
                "Missing: `cronledger backfill`. Unexpected: an edit, or a second producer;"
                " `cronledger reconcile` lists the keys.",
                Query(
                    f"schedule:cronledger_missing_occurrences:max{{{SCHEDULE}}}",
                    "{{schedule}} missing",
                ),
                Query(
                    f"schedule:cronledger_unexpected_occurrences:max{{{SCHEDULE}}}",
                    "{{schedule}} unexpected",
                ),
            ),
            _paused(),
        ),
    )


def _paused() -> Panel:
    paused = f"max by (schedule) (cronledger_schedule_paused{{{SCHEDULE}}})"
    return Panel(
        "state-timeline",
        "Paused",
        "While it is paused nothing is owed; `pause` in the file says why.",
        (Query(paused, "{{schedule}}"),),
        "bool_yes_no",
        width=24,
        height=5,
    )


def _facts() -> Row:
    facts = "schedule, queue, kind, timezone"
    return Row(
        "Facts",
        (
            Panel(
                "table",
                "What the file says",
                "Not what you expect: `cronledger diff` compares two files.",
                (
                    Query(
                        f"group by ({facts}) (cronledger_schedule_info{{{SCHEDULE}}})", instant=True
                    ),
                ),
                width=24,
            ),
        ),
    )
