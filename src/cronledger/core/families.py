"""What the file says and the database is measured for: the first half of the exported families.

Grouped by type, source and labels; help says what is measured. Names are spelled out in full, so
that a search for one finds it. `catalogue` makes both halves usable.
"""

from __future__ import annotations

from collections.abc import Mapping

Group = tuple[str, str, tuple[str, ...], Mapping[str, str]]

# Each row: type, source, labels, then help by name.
MEASURED: tuple[Group, ...] = (
    (
        "gauge",
        "file",
        ("state",),
        {
            "cronledger_schedules": (
                "Schedules in the loaded file, by state (active, paused, ended)."
            ),
        },
    ),
    (
        "info",
        "file",
        ("schedule", "queue", "kind", "timezone", "severity", "team", "class", "runbook"),
        {
            "cronledger_schedule_info": "Static facts of a schedule; the value is always 1.",
        },
    ),
    (
        "gauge",
        "file",
        ("schedule",),
        {
            "cronledger_schedule_paused": "Whether the schedule is paused (1) or not (0).",
            "cronledger_schedule_delivery_objective_seconds": (
                "How long after its due time an occurrence may stay unfinished."
            ),
            "cronledger_schedule_grace_seconds": (
                "How long after its due time an occurrence may lack a record before it counts as "
                "missing."
            ),
            "cronledger_schedule_next_occurrence_timestamp_seconds": (
                "Due time of the next expected occurrence; NaN if there is none."
            ),
            "cronledger_schedule_last_due_timestamp_seconds": (
                "Due time of the latest expected occurrence that is already due; NaN if there is "
                "none."
            ),
        },
    ),
    (
        "gauge",
        "file",
        ("queue",),
        {
            "cronledger_queue_delivery_objective_seconds": (
                "How long an eligible job of the queue may wait."
            ),
        },
    ),
    (
        "gauge",
        "db",
        ("schedule",),
        {
            "cronledger_schedule_last_recorded_timestamp_seconds": (
                "Due time of the latest occurrence that has a record; NaN if there is none."
            ),
            "cronledger_schedule_last_success_timestamp_seconds": (
                "When an occurrence of the schedule last completed; NaN if never."
            ),
            "cronledger_schedule_oldest_unfinished_timestamp_seconds": (
                "Due time of the oldest due occurrence that is not finished, recorded or not; NaN "
                "if there is none."
            ),
            "cronledger_schedule_missing_occurrences": (
                "Expected occurrences past due plus grace, within the lookback, that have no "
                "record."
            ),
            "cronledger_schedule_oldest_missing_timestamp_seconds": (
                "Due time of the oldest missing occurrence; NaN if there is none."
            ),
            "cronledger_schedule_unexpected_occurrences": (
                "Records within the lookback whose key no expected occurrence has."
            ),
            "cronledger_schedule_orphaned_occurrences": (
                "Records within the lookback whose job is gone without an outcome."
            ),
        },
    ),
    (
        "gauge",
        "db",
        ("queue", "state"),
        {
            "cronledger_queue_jobs": (
                "Unfinished jobs by state (scheduled, eligible, leased, lease_expired, retrying, "
                "dead)."
            ),
        },
    ),
    (
        "gauge",
        "db",
        ("queue",),
        {
            "cronledger_queue_oldest_eligible_timestamp_seconds": (
                "When the oldest claimable job became claimable; NaN if there is none."
            ),
            "cronledger_queue_oldest_unfinished_timestamp_seconds": (
                "Due time of the oldest due job that is not finished; NaN if there is none."
            ),
            "cronledger_queue_oldest_lease_timestamp_seconds": (
                "When the longest running current lease was taken; NaN if there is none."
            ),
            "cronledger_queue_oldest_expired_lease_timestamp_seconds": (
                "When the oldest lease that is past its end, and not reclaimed, ended; NaN if "
                "there is none."
            ),
            "cronledger_queue_oldest_dead_letter_timestamp_seconds": (
                "When the oldest unacknowledged dead letter was made; NaN if there is none."
            ),
            "cronledger_retry_budget_remaining_ratio": (
                "Share of the queue's retry budget that is left in this minute; NaN if it has none."
            ),
            "cronledger_queue_claims_paused": "Whether claiming is paused (1) or not (0).",
        },
    ),
    (
        "gauge",
        "db",
        (),
        {
            "cronledger_reconcile_last_success_timestamp_seconds": (
                "When a reconcile last completed, on any replica, by the database clock; NaN if "
                "never."
            ),
        },
    ),
)
