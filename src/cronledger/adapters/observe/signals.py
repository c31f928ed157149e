"""Which metric and which panel answer what one asks of a queue first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signal:
    """One question, the metric that knows, and the panel (`board: title`) that shows it."""

    asked: str
    metric: str
    panel: str


# Latency, traffic, errors, saturation.
GOLDEN = (
    Signal(
        "latency: age of the oldest due row",
        "cronledger_queue_oldest_eligible_timestamp_seconds",
        "queues: Oldest eligible job, against its objective",
    ),
    Signal(
        "traffic: rows created",
        "cronledger_jobs_created_total",
        "overview: Jobs created by queue",
    ),
    Signal(
        "errors: failed rows, by kind",
        "cronledger_attempts_total",
        "queues: Failed share of attempts by kind",
    ),
    Signal(
        "saturation: rows claimed and never finished",
        "cronledger_queue_oldest_expired_lease_timestamp_seconds",
        "queues: Lease past its end and not taken back",
    ),
)

# What a first board has to show of a job queue.
MINIMUM = (
    *(
        Signal(
            f"{said} jobs",
            f'cronledger_queue_jobs{{state="{state}"}}',
            "overview: Unfinished jobs by state (context only, never alerted on)",
        )
        for said, state in (
            ("eligible", "eligible"),
            ("leased", "leased"),
            ("retrying", "retrying"),
            ("dead-lettered", "dead"),
        )
    ),
    Signal(
        "completed jobs",
        'cronledger_jobs_finished_total{outcome="completed"}',
        "queues: Jobs finished by outcome",
    ),
    Signal(
        "age of the oldest eligible job",
        "cronledger_queue_oldest_eligible_timestamp_seconds",
        "queues: Oldest eligible job, against its objective",
    ),
    Signal(
        "time from claim to start",
        "cronledger_job_claim_to_start_seconds",
        "queues: Claim to start by kind",
    ),
    Signal(
        "execution time",
        "cronledger_job_execution_seconds",
        "queues: Execution by kind",
    ),
    Signal(
        "attempts per logical key",
        "cronledger_job_attempts",
        "queues: Attempts per key by kind",
    ),
    Signal(
        "lease extensions that fail",
        'cronledger_lease_extensions_total{outcome="lost"}',
        "queues: Leases extended and lost by outcome",
    ),
)
