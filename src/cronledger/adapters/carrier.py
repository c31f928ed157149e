"""The trace context of whoever runs this code, if the program around it is traced."""

from __future__ import annotations

import sys


def current_headers() -> dict[str, str]:
    """Such as `traceparent`; {} without a current span. Imports nothing into a program that does
    not use OpenTelemetry itself."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier
