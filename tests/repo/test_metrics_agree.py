"""Catalogue, rules, alerts, dashboards, pages and runbooks speak of the same metrics."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from typer.main import get_command

from cronledger.adapters.observe.reference import reference
from cronledger.adapters.observe.signals import GOLDEN, MINIMUM, Signal
from cronledger.cli.app import build
from cronledger.core.catalogue import CATALOGUE, MetricType, Source, Tier

ROOT = Path(__file__).parents[2]
OWN_RUNBOOK = re.compile(r"\{\{ if .+\{\{ \$labels\.runbook \}\}\{\{ else \}\}(.+)\{\{ end \}\}")
RUNBOOK_URL = "https://github.com/cronledger/cronledger/blob/main/docs/runbooks/"
PROGRAM = cast(Any, get_command(build()))  # typer bundles its own copy of click's types
REPLICA = "instance, pod, container, endpoint"
NAME = re.compile(r"\b(?:[a-z_]+:)?cronledger_\w+(?::\w+)?")
# What the formats make of a histogram.
PART = re.compile(r"_(?:bucket|sum|count)$")


def names_in(text: str) -> set[str]:
    """Families and recorded names; a part of a histogram is the histogram."""
    return {whole(name) for name in NAME.findall(text)}


def whole(name: str) -> str:
    family = PART.sub("", name)
    of_one = family in CATALOGUE and CATALOGUE[family].type is MetricType.HISTOGRAM
    return family if of_one else name


def rules_in(folder: str) -> list[dict[str, Any]]:
    return [
        rule
        for file in sorted((ROOT / folder).glob("*.yaml"))
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
    ]


RECORDING = rules_in("rules")
ALERTS = rules_in("alerts")
RECORDED = {rule["record"] for rule in RECORDING}


def runbook_of(alert: dict[str, Any]) -> str:
    """The page of an alert: ours, where the schedule does not name its own."""
    url = OWN_RUNBOOK.sub(r"\1", alert["annotations"]["runbook_url"])
    assert url.startswith(RUNBOOK_URL)
    return str(url.removeprefix(RUNBOOK_URL))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def dashboard_texts() -> list[str]:
    files = sorted((ROOT / "dashboards").glob("*.json"))
    return [text for file in files for text in strings(json.loads(file.read_text()))]


USES: dict[str, list[str]] = {
    "rules": [rule["expr"] for rule in RECORDING],
    "alerts": [rule["expr"] for rule in ALERTS],
    "dashboards": dashboard_texts(),
    "runbooks": [file.read_text() for file in sorted((ROOT / "docs/runbooks").glob("*.md"))],
}


@pytest.mark.parametrize("where", USES)
def test_obs34_every_name_in_use_is_catalogued_or_recorded(where: str) -> None:
    found = {name for text in USES[where] for name in names_in(text)}
    assert found
    assert found <= CATALOGUE.keys() | RECORDED


# Nothing of ours reads them, for these reasons.
FOR_REFERENCE = {
    "cronledger_pings_total": "who is pinged outside alerts on the silence",
    "cronledger_schedule_grace_seconds": "in cronledger_schedule_missing_occurrences already",
    "cronledger_schedule_orphaned_occurrences": "told by reconcile, one by one",
    "cronledger_schedules": "how many there are is no sign of health",
    "cronledger_tzdata_info": "to compare replicas by hand",
    "cronledger_web_config_reloads_total": "the log says more, and the old settings stay in force",
}


def test_obs15_every_metric_is_read_by_a_rule_an_alert_or_a_panel() -> None:
    texts = [text for where in ("rules", "alerts", "dashboards") for text in USES[where]]
    read = {name for text in texts for name in names_in(text)}
    assert CATALOGUE.keys() - read == FOR_REFERENCE.keys()


def test_labels_in_selectors_are_those_of_the_metric() -> None:
    for text in (*USES["rules"], *USES["alerts"], *USES["dashboards"]):
        for name, matchers in re.findall(r"(cronledger_\w+)\{([^}]*)\}", text):
            if (name := whole(name)) in CATALOGUE:
                labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
                assert labels <= {*CATALOGUE[name].labels, "job", "le"}, text


def test_every_recording_rule_is_used_by_an_alert_a_panel_or_a_rule() -> None:
    used = {name for where in USES.values() for text in where for name in names_in(text)}
    assert used >= RECORDED


def test_names_of_recording_rules_say_level_metric_and_operation() -> None:
    assert all(re.fullmatch(r"[a-z_]+:cronledger_\w+:\w+", name) for name in RECORDED)


def test_what_all_replicas_agree_on_is_folded_by_max_and_never_summed_over_them() -> None:
    for rule in RECORDING:
        names = {name for name in names_in(rule["expr"]) if name in CATALOGUE}
        if names - {"cronledger_snapshot_timestamp_seconds"}:
            text = " ".join(rule["expr"].split())
            # Facts in labels are grouped by what they say, and that is not which replica says it.
            facts = all(CATALOGUE[name].type is MetricType.INFO for name in names)
            fold = "group by (cluster, namespace, job, schedule" if facts else "max without"
            assert f"{fold} ({REPLICA})" in text or (facts and fold in text), rule["record"]
            assert all(
                CATALOGUE[name].source is not Source.PROCESS
                for name in names - {"cronledger_snapshot_timestamp_seconds"}
            )


def test_measured_ages_and_gaps_carry_the_freshness_guard() -> None:
    guard = "and on (job, instance) (time() - cronledger_snapshot_timestamp_seconds < 900)"
    for rule in RECORDING:
        record = rule["record"]
        if "age_seconds" in record or "missing" in record or "unexpected" in record:
            assert guard in " ".join(rule["expr"].split()), record


def test_no_alert_looks_at_depth() -> None:
    for file in (ROOT / "alerts").glob("*.yaml"):
        assert "cronledger_queue_jobs" not in file.read_text()


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_says_what_it_means_and_what_to_do(alert: dict[str, Any]) -> None:
    notes = alert["annotations"]
    assert {"summary", "description", "runbook_url", "cli"} <= notes.keys()
    fallback = re.sub(r"\{\{ if .+ else \}\}(.+)\{\{ end \}\}", r"\1", alert["labels"]["severity"])
    assert fallback in {"critical", "warning", "info"}
    program, *words = re.sub(r"\{\{.*?\}\}", "name", notes["cli"]).split()
    assert program == "cronledger"
    accept(words)
    page = ROOT / "docs" / "runbooks" / runbook_of(alert)
    assert page.read_text().startswith(f"# {alert['alert']}\n")


def accept(words: list[str]) -> None:
    """Parse a command line as the program does, and run nothing; its error is the failure."""
    command, line = PROGRAM, words
    while hasattr(command, "commands"):
        assert line[0] in command.commands, words
        command, line = command.commands[line[0]], line[1:]
    command.make_context("cronledger", list(line))


def test_every_runbook_belongs_to_an_alert() -> None:
    linked = {runbook_of(alert) for alert in ALERTS}
    assert {file.name for file in (ROOT / "docs" / "runbooks").glob("*.md")} == linked


def test_every_runbook_has_every_part_in_order() -> None:
    parts = [
        "**Meaning.**",
        "**Impact.**",
        "## First command",
        "## The four stages",
        "| recorded |",
        "| enqueued |",
        "| claimed |",
        "| effect committed |",
        "## Likely causes, and what to do",
        "## Do not",
        "## Verify",
    ]
    for text in USES["runbooks"]:
        assert [text.count(part) for part in parts] == [1] * len(parts), text[:60]
        assert sorted(parts, key=text.index) == parts


def test_runbooks_name_only_commands_that_exist() -> None:
    for text in USES["runbooks"]:
        # Marked as code, over a line's end too; what is in capitals stands for a value.
        found = re.findall(r"^cronledger (.+)$|`cronledger ([^`]+)`", text, re.MULTILINE)
        assert found
        for line in found:
            accept(shlex.split("".join(line)))


def test_runbooks_that_load_a_file_warn_that_it_ends_the_schedules_of_others() -> None:
    loading = [text for text in USES["runbooks"] if re.search(r"cronledger (tick|run) ", text)]
    assert loading
    for text in loading:
        words = " ".join(text.split())
        assert "the one file of this ledger" in words
        assert "ends every schedule of the ledger that it does not have" in words


def test_the_reference_page_is_what_the_catalogue_says() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == reference()


def test_the_reference_page_names_every_metric_once_with_its_help() -> None:
    page = reference()
    for name, metric in CATALOGUE.items():
        assert page.count(f"| `{name}` | {metric.type} |") == 1
        assert metric.help in page


@pytest.mark.parametrize("name", CATALOGUE)
def test_names_follow_the_conventions_of_prometheus(name: str) -> None:
    metric = CATALOGUE[name]
    assert name.startswith("cronledger_")
    assert name.endswith("_total") == (metric.type is MetricType.COUNTER)
    assert name.endswith("_info") == (metric.type is MetricType.INFO)
    assert metric.help.endswith(".")
    assert ("timestamp" in name) == name.endswith("_timestamp_seconds")
    assert (metric.unit == "seconds") == name.endswith("_seconds")


def test_no_label_is_one_that_the_scrape_sets_or_that_grows_without_bound() -> None:
    labels = {label for metric in CATALOGUE.values() for label in metric.labels}
    assert not labels & {"job", "instance", "key", "job_id", "worker", "host", "error"}


def test_only_metrics_of_the_schedule_tier_have_one_series_per_schedule() -> None:
    tiers = {metric.tier for metric in CATALOGUE.values()}
    assert tiers == {Tier.CORE, Tier.SCHEDULE}
    for name, metric in CATALOGUE.items():
        assert (metric.tier is Tier.SCHEDULE) == name.startswith("cronledger_schedule_")


def test_closed_label_values_belong_to_a_label_of_the_metric() -> None:
    for metric in CATALOGUE.values():
        assert metric.values.keys() <= set(metric.labels)
        assert all(len(set(values)) == len(values) for values in metric.values.values())


@pytest.mark.parametrize("signal", [*GOLDEN, *MINIMUM], ids=lambda signal: str(signal.asked))
def test_what_is_asked_first_has_a_metric_and_a_panel_that_reads_it(signal: Signal) -> None:
    [metric] = names_in(signal.metric)
    assert metric in CATALOGUE
    board, _, title = signal.panel.partition(": ")
    panels = json.loads((ROOT / "dashboards" / f"{board}.json").read_text())["panels"]
    [panel] = [panel for panel in panels if panel["title"] == title]
    read = {name for text in strings(panel["targets"]) for name in names_in(text)}
    rules = [rule["expr"] for rule in RECORDING if rule["record"] in read]
    assert metric in read.union(*map(names_in, rules))
    for label, value in re.findall(r'(\w+)="(\w+)"', signal.metric):
        assert value in CATALOGUE[metric].values[label]
