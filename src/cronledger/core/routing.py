"""Who is told when a schedule is late, and how urgently: what the file says for the alerts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_CLASS = "default"


class AlertSeverity(StrEnum):
    """How urgent an alert on a schedule is: wake somebody, tell somebody, or note it."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Routing:
    """Labels of a schedule's alerts. `runbook`: an address that stands in place of our page."""

    severity: AlertSeverity = AlertSeverity.WARNING
    team: str | None = None
    schedule_class: str = DEFAULT_CLASS
    runbook: str | None = None


ROUTED = Routing()
