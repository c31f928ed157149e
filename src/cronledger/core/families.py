"""The table of exported families, grouped by type, source and labels. Help says what is measured.

Names are spelled out in full, so that a search for one finds it. `catalogue` makes it usable.
"""

from __future__ import annotations

from collections.abc import Mapping

Group = tuple[str, str, tuple[str, ...], Mapping[str, str]]

# Each row: type, source, labels, then help by name.
GROUPS: tuple[Group, ...] = (
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
        ("schedule", "queue", "kind", "timezone", "severity", "team", "class"),
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
    (
        "counter",
        "ledger",
        ("class",),
        {
            "cronledger_occurrences_expected_total": "Occurrences that came due.",
        },
    ),
    (
        "counter",
        "ledger",
        ("class", "via"),
        {
            "cronledger_occurrences_recorded_total": (
                "Occurrence records created, by who created them (tick, backfill, manual, "
                "external)."
            ),
        },
    ),
    (
        "counter",
        "ledger",
        ("class", "reason"),
        {
            "cronledger_occurrences_skipped_total": (
                "Occurrences left out on purpose (dst_gap, dst_fold, paused, skipped, excluded, "
                "overlap)."
            ),
            "cronledger_occurrences_abandoned_total": (
                "Occurrences that the catch-up policy omitted for good (outside_window, "
                "over_limit, policy_none, coalesced)."
            ),
        },
    ),
    (
        "counter",
        "ledger",
        ("queue", "kind"),
        {
            "cronledger_jobs_created_total": "Job rows created.",
            "cronledger_leases_expired_total": (
                "Leases that ended without a completion and were reclaimed."
            ),
            "cronledger_stale_completions_rejected_total": (
                "Completions refused because the lease was no longer the worker's."
            ),
        },
    ),
    (
        "counter",
        "ledger",
        ("queue",),
        {
            "cronledger_retry_budget_denied_total": (
                "Retries refused because the budget of the queue was spent."
            ),
        },
    ),
    (
        "counter",
        "ledger",
        ("queue", "kind", "outcome"),
        {
            "cronledger_jobs_finished_total": (
                "Jobs that reached an end (completed, dead, cancelled)."
            ),
            "cronledger_attempts_total": (
                "Attempts that ended (completed, retry, dead, cancelled, lease_expired)."
            ),
        },
    ),
    (
        "info",
        "process",
        ("version", "revision", "python"),
        {
            "cronledger_build_info": "Build facts; the value is always 1.",
        },
    ),
    (
        "info",
        "process",
        ("sha256",),
        {
            "cronledger_config_info": (
                "Digest of the schedule file in force; the value is always 1."
            ),
        },
    ),
    (
        "info",
        "process",
        ("version",),
        {
            "cronledger_tzdata_info": "Zone data in use; the value is always 1.",
        },
    ),
    (
        "gauge",
        "process",
        (),
        {
            "cronledger_reconcile_interval_seconds": "Configured time between reconciles.",
            "cronledger_snapshot_timestamp_seconds": (
                "Database time at which the exported measurements were taken; NaN if none was."
            ),
            "cronledger_snapshot_duration_seconds": (
                "How long the last measurement took; NaN if none was made."
            ),
            "cronledger_database_up": (
                "Whether the last measurement reached the database (1) or not (0)."
            ),
            "cronledger_clock_skew_seconds": (
                "This host's clock minus the database's clock, at the middle of the round trip; "
                "NaN if not measured."
            ),
            "cronledger_config_last_reload_successful": (
                "Whether the last attempt to load the schedule file succeeded (1) or not (0)."
            ),
            "cronledger_config_last_reload_success_timestamp_seconds": (
                "When the schedule file was last loaded successfully; NaN if never."
            ),
        },
    ),
    (
        "gauge",
        "process",
        ("collector",),
        {
            "cronledger_collector_success": (
                "Whether the collector's last run succeeded (1) or not (0)."
            ),
        },
    ),
    (
        "counter",
        "process",
        ("outcome",),
        {
            "cronledger_reconcile_runs_total": "Reconciles by outcome (ok, error).",
            "cronledger_web_config_reloads_total": "Web config reloads by outcome (ok, error).",
            "cronledger_pings_total": "Pings to an outside watcher by outcome (ok, error).",
        },
    ),
    (
        "counter",
        "process",
        ("sqlstate_class",),
        {
            "cronledger_database_errors_total": "Database errors by SQLSTATE class.",
        },
    ),
    (
        "counter",
        "process",
        ("class",),
        {
            "cronledger_occurrence_duplicates_suppressed_total": (
                "Enqueues that the unique key turned into no row."
            ),
        },
    ),
)
