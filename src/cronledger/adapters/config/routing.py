"""The keys of a schedule that its alerts carry."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from cronledger.adapters.config.fields import MAX_TEXT, choice, text
from cronledger.adapters.config.strict import Strict
from cronledger.core.routing import AlertSeverity

_LABEL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}")
_ADDRESS = re.compile(r"https?://[^\s\"'<>{}]+")
_FORM = "letters, digits, '_', '.' and '-', at most 63 characters"

SeverityName = Annotated[AlertSeverity, choice(AlertSeverity)]
Team = Annotated[str, text(f"a team of {_FORM}", 63, _LABEL)]
ClassName = Annotated[str, text(f"a class of {_FORM}", 63, _LABEL)]
Runbook = Annotated[str, text("an address such as https://wiki/billing", MAX_TEXT, _ADDRESS)]


class RoutingModel(Strict):
    """Who is told, and how urgently; a schedule or `defaults` has it."""

    severity: SeverityName | None = None
    team: Team | None = None
    schedule_class: ClassName | None = Field(default=None, alias="class")
    runbook: Runbook | None = None
