"""What this process tells: its log, its reports, and what OpenTelemetry asks for."""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronledger.adapters.observe.telemetry import Telemetry
    from cronledger.core.report import Report
    from cronledger.ports import Observe


def event_log(worker: str = "") -> Observe:
    """Writes one structured line per event to stderr, with the worker's name if there is one.

    Repeats of a failure are counted.
    """
    from cronledger.adapters.clock import SystemClock
    from cronledger.adapters.observe.logs import log_events

    elapsed = SystemClock().monotonic
    return log_events(worker, elapsed=elapsed, ids=lambda token: telemetry().ids(token))


def log_schema() -> str:
    """The JSON Schema of a log line, as text."""
    from cronledger.adapters.observe.log_schema import log_schema_text

    return log_schema_text()


def report_schema() -> str:
    """The JSON Schema of `reconcile -o json`, as text."""
    from cronledger.adapters.report.schema import report_schema_text

    return report_schema_text()


def report_page(found: Report) -> str:
    """The report as one page for a browser."""
    from cronledger.adapters.report.html import page

    return page(found)


@cache
def telemetry() -> Telemetry:
    """What the `OTEL_*` variables ask for, made when it is first needed."""
    from cronledger.adapters.clock import SystemClock
    from cronledger.adapters.observe import collector

    version = metadata.version("cronledger")
    return collector.telemetry(os.environ, version, SystemClock(), event_log)


def end_telemetry() -> None:
    """Send what is left, if there is anything; bounded in time."""
    if telemetry.cache_info().currsize:
        telemetry().close()
