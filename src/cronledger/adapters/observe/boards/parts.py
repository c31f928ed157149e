"""What the boards share: their variables, how replicas are folded, and which colour says what."""

from __future__ import annotations

from collections.abc import Mapping

from cronledger.adapters.observe.panels import Panel, Query, Variable

REPLICAS = "instance, pod, container, endpoint"
JOB = 'job=~"$job"'
QUEUE = f'{JOB},queue=~"$queue"'
SCHEDULE = f'{JOB},schedule=~"$schedule"'
HALF_IS_YELLOW: Mapping[float, str] = {0: "green", 0.5: "yellow", 1: "red"}
ANY_IS_RED: Mapping[float, str] = {0: "green", 1: "red"}
ANY_IS_GREEN: Mapping[float, str] = {0: "red", 1: "green"}

JOB_VARIABLE = Variable("job", "Job", "label_values(cronledger_build_info, job)")
QUEUE_VARIABLE = Variable("queue", "Queue", f"label_values(cronledger_queue_jobs{{{JOB}}}, queue)")
SCHEDULE_VARIABLE = Variable(
    "schedule", "Schedule", f"label_values(cronledger_schedule_info{{{JOB}}}, schedule)"
)
ANNOTATIONS: Mapping[str, str] = {
    "Schedule reloads": (
        f"changes(cronledger_config_last_reload_success_timestamp_seconds{{{JOB}}}"
        "[$__rate_interval]) > 0"
    ),
    "Clock change (DST) skips and folds": (
        f'increase(cronledger_occurrences_skipped_total{{{JOB},reason=~"dst_.+"}}'
        "[$__rate_interval]) > 0"
    ),
    "Leader changes": (
        f"increase(cronledger_leader_transitions_total{{{JOB}}}[$__rate_interval]) > 0"
    ),
    "Claims paused or resumed": (
        f"changes(cronledger_queue_claims_paused{{{JOB}}}[$__rate_interval]) > 0"
    ),
}


def increase(counter: str, matchers: str, by: str) -> str:
    """How much a durable counter, the same on every replica, has grown."""
    folded = f"max without ({REPLICAS}) (increase({counter}{{{matchers}}}[$__rate_interval]))"
    return f"sum by ({by}) ({folded})" if by else f"sum({folded})"


def of_processes(counter: str, matchers: str, by: str) -> str:
    """How much a counter that each process has of its own has grown, over all of them."""
    return f"sum by ({by}) (increase({counter}{{{matchers}}}[$__rate_interval]))"


def within(share: float, histogram: str, matchers: str, by: str) -> str:
    """What `share` of the observations of a durable histogram stays within."""
    rate = f"rate({histogram}_bucket{{{matchers}}}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by ({by}, le) (max without ({REPLICAS}) ({rate})))"


def lines(title: str, description: str, *queries: Query, unit: str = "none") -> Panel:
    """A panel of lines over time."""
    return Panel("timeseries", title, description, queries, unit)


def moment(title: str, description: str, metric: str) -> Panel:
    """When something last was or next is, as a person says it."""
    expr = f"1000 * max by (schedule) ({metric}{{{SCHEDULE}}})"
    query = Query(expr, "{{schedule}}")
    return Panel("stat", title, description, (query,), "dateTimeFromNow", width=6, height=4)
