"""Who is told of which alert of ours, and which alert makes another one noise: for Alertmanager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

_HEAD = """\
# Routes and inhibitions for the alerts of cronledger, written by `cronledger export alertmanager`.
#
# It is a whole configuration that tells nobody anything: the receivers are empty. Give them yours,
# or take route, inhibitions and receivers over into the configuration that you have.
"""
# How soon, and how often again, somebody wants to know. What is critical pages.
_PACE = {
    "critical": {"group_wait": "10s", "repeat_interval": "1h"},
    "warning": {"group_wait": "1m", "repeat_interval": "12h"},
    "info": {"group_wait": "5m", "repeat_interval": "1d"},
}
_OURS = 'alertname=~"Cronledger.+"'
# An alert that explains others, and the labels that must be equal. Alerts on schedules are
# explained by CronledgerDown alone: two of them may have two causes.
_EXPLAINS = (
    ("CronledgerDown", "Cronledger.+", ("cluster", "job")),
    (
        "CronledgerDatabaseUnreachable",
        "Cronledger(CollectorFailing|LeaderCount|ReconcileStale)",
        ("cluster", "namespace", "job"),
    ),
    (
        "CronledgerQueueStalled",
        "CronledgerQueueOldestEligibleTooOld",
        ("cluster", "namespace", "job", "queue"),
    ),
)


def alertmanager(teams: Sequence[str] = ()) -> str:
    """A configuration with receivers by severity, and for each of `teams` its own by severity.

    Alerts without a team, or of a team that is not named, go to the receivers by severity alone.
    """
    ours: dict[str, Any] = {
        "matchers": [_OURS],
        "receiver": _receiver("warning"),
        "group_by": ["alertname", "cluster", "namespace", "job", "team"],
        "routes": [*(_team(team) for team in teams), *_severities()],
    }
    owners = [None, *teams]
    config = {
        "route": {"receiver": "default", "routes": [ours]},
        "inhibit_rules": [_inhibition(*rule) for rule in _EXPLAINS],
        "receivers": [
            {"name": "default"},
            *({"name": _receiver(level, team)} for team in owners for level in _PACE),
        ],
    }
    return _HEAD + yaml.safe_dump(config, sort_keys=False, width=100)


def _team(team: str) -> dict[str, Any]:
    return {
        "matchers": [f'team="{team}"'],
        "receiver": _receiver("warning", team),
        "routes": _severities(team),
    }


def _severities(team: str | None = None) -> list[dict[str, Any]]:
    return [
        {"matchers": [f'severity="{level}"'], "receiver": _receiver(level, team), **pace}
        for level, pace in _PACE.items()
    ]


def _receiver(level: str, team: str | None = None) -> str:
    return "-".join(filter(None, ("cronledger", team, level)))


def _inhibition(source: str, others: str, equal: Sequence[str]) -> dict[str, Any]:
    # CronledgerDown is among its own `others`: Alertmanager lets nothing silence itself.
    return {
        "source_matchers": [f'alertname="{source}"'],
        "target_matchers": [f'alertname=~"{others}"'],
        "equal": list(equal),
    }
