"""The board of queues and workers: ages against objectives, leases, attempts, dead letters."""

from __future__ import annotations

from cronledger.adapters.observe.boards.parts import (
    ANNOTATIONS,
    JOB_VARIABLE,
    QUEUE,
    QUEUE_VARIABLE,
    increase,
    lines,
    within,
)
from cronledger.adapters.observe.panels import Dashboard, Panel, Query, Row


def queues() -> Dashboard:
    """dashboards/queues.json."""
    return Dashboard(
        uid="cronledger-queues",
        title="cronledger / Queues and workers",
        description="What waits, who works on it, and what failed.",
        span="now-6h",
        variables=(JOB_VARIABLE, QUEUE_VARIABLE),
        annotations=ANNOTATIONS,
        rows=(_ages(), _times(), _attempts(), _leases(), _fences(), _dead_letters()),
    )


def _age(metric: str) -> Query:
    return Query(f"time() - max by (queue) ({metric}{{{QUEUE}}})", "{{queue}}")


def _ages() -> Row:
    return Row(
        "Queues",
        (
            lines(
                "Oldest eligible job, against its objective",
                "A line that climbs past its objective: workers are gone, stuck or too few;"
                " `cronledger doctor` looks for the reason.",
                Query(f"queue:cronledger_oldest_eligible_age_seconds:max{{{QUEUE}}}", "{{queue}}"),
                Query(
                    f"queue:cronledger_delivery_objective_seconds:max{{{QUEUE}}}",
                    "{{queue}} objective",
                ),
                unit="s",
            ),
            lines(
                "Oldest unfinished job",
                "Climbs though nothing waits: a job hangs or is tried again and again;"
                " `cronledger jobs list --state retrying`.",
                _age("cronledger_queue_oldest_unfinished_timestamp_seconds"),
                unit="s",
            ),
            Panel(
                "state-timeline",
                "Claims paused",
                "`cronledger queue list` says who and why, `cronledger queue resume` ends it.",
                (Query(f"queue:cronledger_claims_paused:max{{{QUEUE}}}", "{{queue}}"),),
                "bool_yes_no",
                width=24,
                height=5,
            ),
        ),
    )


def _times() -> Row:
    def p95(title: str, description: str, histogram: str, unit: str = "s") -> Panel:
        query = Query(within(0.95, histogram, QUEUE, "kind"), "{{kind}}")
        return lines(title, description, query, unit=unit)

    return Row(
        "How long jobs take (95 of 100 stay within)",
        (
            p95(
                "Wait by kind",
                "From eligible to claimed. Grows while execution does not: more workers.",
                "cronledger_job_wait_seconds",
            ),
            p95(
                "Claim to start by kind",
                "More than a moment: the worker claims more than it can begin, or stands still.",
                "cronledger_job_claim_to_start_seconds",
            ),
            p95(
                "Execution by kind",
                "Near the timeout: attempts are about to be cancelled."
                " `cronledger jobs list --state leased` shows what runs.",
                "cronledger_job_execution_seconds",
            ),
            p95(
                "Attempts per key by kind",
                "More than one for most: failures that retries hide; the worker's log has the error"
                " class.",
                "cronledger_job_attempts",
                "none",
            ),
        ),
    )


def _attempts() -> Row:
    of_kind = "cronledger_attempts_total"
    failed = f'{QUEUE},outcome!="completed"'
    share = f"{increase(of_kind, failed, 'kind')} / {increase(of_kind, QUEUE, 'kind')}"
    return Row(
        "Attempts",
        (
            lines(
                "Failed share of attempts by kind",
                "Above what is usual: `cronledger jobs list --state retrying --kind KIND`, and the"
                " worker's log by error class.",
                Query(share, "{{kind}}"),
                unit="percentunit",
            ),
            lines(
                "Jobs finished by outcome",
                "Dead ones want a look: `cronledger dead list`.",
                Query(increase("cronledger_jobs_finished_total", QUEUE, "outcome"), "{{outcome}}"),
            ),
            lines(
                "Retry budget left",
                "At 0 % retries wait for the next minute, or die: find the error class that fails"
                " everywhere.",
                Query(
                    f"min by (queue) (cronledger_retry_budget_remaining_ratio{{{QUEUE}}})",
                    "{{queue}}",
                ),
                unit="percentunit",
            ),
            lines(
                "Retries refused by the budget",
                "Something fails everywhere at once; find the error class before raising the"
                " budget.",
                Query(
                    increase("cronledger_retry_budget_denied_total", QUEUE, "queue"), "{{queue}}"
                ),
            ),
        ),
    )


def _leases() -> Row:
    return Row(
        "Leases",
        (
            lines(
                "Longest current lease",
                "Longer than a run takes: `cronledger jobs list --state leased`.",
                _age("cronledger_queue_oldest_lease_timestamp_seconds"),
                unit="s",
            ),
            lines(
                "Lease past its end and not taken back",
                "Nobody rescues: neither a worker nor the sidecar is alive.",
                Query(
                    f"queue:cronledger_oldest_expired_lease_age_seconds:max{{{QUEUE}}}",
                    "{{queue}}",
                ),
                unit="s",
            ),
        ),
    )


def _fences() -> Row:
    return Row(
        "Extensions and fences",
        (
            lines(
                "Leases extended and lost by outcome",
                "Lost ones: the worker was too late, because its machine or the database stood"
                " still.",
                Query(
                    increase("cronledger_lease_extensions_total", QUEUE, "outcome"), "{{outcome}}"
                ),
            ),
            lines(
                "Leases taken back",
                "Workers die or hang: look at what ended them, memory first.",
                Query(increase("cronledger_leases_expired_total", QUEUE, "queue"), "{{queue}}"),
            ),
            lines(
                "Stale completions refused",
                "Workers finish after their leases: the lease is too short, or machines stand"
                " still.",
                Query(
                    increase("cronledger_stale_completions_rejected_total", QUEUE, "queue"),
                    "{{queue}}",
                ),
            ),
        ),
    )


def _dead_letters() -> Row:
    dead = f'{QUEUE},outcome="dead"'
    return Row(
        "Dead letters",
        (
            lines(
                "Dead letters made by kind",
                "`cronledger dead list --kind KIND`; mend the cause, then `cronledger dead"
                " replay`.",
                Query(increase("cronledger_jobs_finished_total", dead, "kind"), "{{kind}}"),
            ),
            lines(
                "Oldest dead letter that nobody dealt with",
                "`cronledger dead list`; replay it or put it away with `cronledger dead discard`.",
                Query(
                    f"queue:cronledger_oldest_dead_letter_age_seconds:max{{{QUEUE}}}", "{{queue}}"
                ),
                unit="s",
            ),
        ),
    )
