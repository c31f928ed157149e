"""What is counted in the ledger, and what a process says of itself: the other half of families."""

from __future__ import annotations

from cronledger.core.families import Group

COUNTED: tuple[Group, ...] = (
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
        ("queue", "outcome"),
        {
            "cronledger_lease_extensions_total": (
                "Leases that a worker asked to keep, by outcome (ok, lost)."
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
        "counter",
        "ledger",
        ("class", "result"),
        {
            "cronledger_deliveries_total": (
                "Occurrences that reached an end, by result (on_time, late, dead, cancelled, "
                "abandoned by a limit of the catch-up); on time is within the schedule's objective."
            ),
        },
    ),
    (
        "histogram",
        "ledger",
        ("class",),
        {
            "cronledger_enqueue_lag_seconds": (
                "Time from an occurrence's due time to its record by a tick."
            ),
        },
    ),
    (
        "histogram",
        "ledger",
        ("queue", "kind"),
        {
            "cronledger_job_attempts": "Attempts that one logical key took to reach an end.",
            "cronledger_job_wait_seconds": "Time from eligible to claimed.",
            "cronledger_job_claim_to_start_seconds": (
                "Time from claimed to the handler's start, as far as workers tell it."
            ),
        },
    ),
    (
        "histogram",
        "ledger",
        ("queue", "kind", "outcome"),
        {
            "cronledger_job_execution_seconds": (
                "Time from the handler's start to its end, by the outcome of the attempt; from the "
                "claim where the worker does not tell it, and to the lease's end where it expired."
            ),
        },
    ),
    (
        "histogram",
        "process",
        ("phase",),
        {
            "cronledger_reconcile_duration_seconds": (
                "Time of a pass by phase (expand, compare, enqueue, measure), failed ones among "
                "them; the enqueue phase is a whole tick."
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
            "cronledger_leader": (
                "Whether this sidecar leads, and measures for those that follow (1), or not (0)."
            ),
            "cronledger_metrics_schedules_omitted": (
                "Healthy schedules that a limit leaves without metrics of their own."
            ),
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
            "cronledger_reconcile_runs_total": "Reconciles by outcome (ok, error, not_leader).",
            "cronledger_web_config_reloads_total": "Web config reloads by outcome (ok, error).",
            "cronledger_pings_total": "Pings to an outside watcher by outcome (ok, error).",
        },
    ),
    (
        "counter",
        "process",
        (),
        {
            "cronledger_leader_transitions_total": ("Times this sidecar began or ceased to lead."),
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
