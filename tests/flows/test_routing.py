"""What the file says for alerts arrives in the metrics that the rules join."""

from __future__ import annotations

from datetime import UTC, datetime

from cronledger.adapters.config.load import parse
from cronledger.adapters.zones import PinnedZones
from cronledger.core.catalogue import CATALOGUE
from cronledger.core.samples import samples_of
from cronledger.core.snapshot import Facts, ProcessFacts
from cronledger.flows.measure import Neighbours, file_facts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXT = b"""\
version: 1
defaults: {team: platform, grace: PT2M}
schedules:
  plain: {cron: "0 2 * * *"}
  invoices:
    cron: "0 2 * * *"
    objective: PT30M
    severity: critical
    team: billing
    class: money
    runbook: https://wiki.example.com/invoices
"""


def exported(metric: str) -> dict[str, tuple[dict[str, str], object]]:
    """Each schedule's labels and value of a family."""
    file = parse(TEXT, "schedules.yaml", PinnedZones())
    facts = Facts(
        process=ProcessFacts(version="0", python="3", tzdata="2026a"),
        file=file_facts(file, (), Neighbours(PinnedZones()), NOON),
    )
    found = [sample for sample in samples_of(facts) if sample.metric == metric]
    labels = [dict(zip(CATALOGUE[metric].labels, s.labels, strict=True)) for s in found]
    return {given["schedule"]: (given, s.value) for given, s in zip(labels, found, strict=True)}


def test_severity_team_class_and_runbook_are_facts_of_the_schedule() -> None:
    info = {name: given for name, (given, _) in exported("cronledger_schedule_info").items()}
    told = ("severity", "team", "class", "runbook")
    assert [info["invoices"][label] for label in told] == [
        "critical",
        "billing",
        "money",
        "https://wiki.example.com/invoices",
    ]
    assert [info["plain"][label] for label in told] == ["warning", "platform", "default", ""]


def test_objective_and_grace_are_those_of_the_file() -> None:
    objective = exported("cronledger_schedule_delivery_objective_seconds")
    assert {name: value for name, (_, value) in objective.items()} == {
        "plain": 3600,
        "invoices": 1800,
    }
    grace = exported("cronledger_schedule_grace_seconds")
    assert {value for _, value in grace.values()} == {120}
