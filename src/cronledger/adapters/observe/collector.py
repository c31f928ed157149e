"""What is told to an OpenTelemetry collector, if the environment asks for it.

Only the standard's own `OTEL_*` variables configure it, and without them nothing of OpenTelemetry
is imported and no thread started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cronledger.adapters.observe.telemetry import Telemetry, asked
from cronledger.core.events import TelemetryFailed
from cronledger.ports import Clock, Observe


def telemetry(
    environ: Mapping[str, str], version: str, clock: Clock, tell: Callable[[], Observe]
) -> Telemetry:
    """What the environment asks for. What cannot be done is told, and ends nothing.

    `tell` makes the listener that is told of failures, when there is the first.
    """
    wanted = asked(environ)
    if wanted.problem:
        tell()(TelemetryFailed("otlp", wanted.problem, 1))
        return Telemetry()
    if not wanted.traces and not wanted.metrics:
        return Telemetry()
    try:
        from cronledger.adapters.observe.otel import Collected
    except ImportError:
        missing = "opentelemetry is not installed; install cronledger[otel]"
        tell()(TelemetryFailed("otlp", missing, 1))
        return Telemetry()
    try:
        return Collected(wanted, environ, version, clock, tell)
    except Exception as error:  # a broken variable must not keep the work from being done
        unusable = f"the OTEL_* variables cannot be used ({type(error).__name__})"
        tell()(TelemetryFailed("otlp", unusable, 1))
        return Telemetry()
