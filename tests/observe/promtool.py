"""Where promtool is, for the tests that let Prometheus itself judge."""

from __future__ import annotations

from debian import program


def promtool() -> str:
    """The program's path. Without it: a failure in CI, a skipped test elsewhere."""
    return program("promtool", "prometheus")
