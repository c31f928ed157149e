"""The alerts for Grafana: the file is what its provisioning takes, and says what ours say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cronledger.adapters.observe.grafana_alerts import grafana_alerts
from cronledger.cli.app import run
from cronledger.errors import ConfigError

ROOT = Path(__file__).parents[2]
ALERTS, COMMITTED = ROOT / "alerts" / "cronledger.yaml", ROOT / "deploy" / "grafana-alerts.yaml"
DURATION = {"type": "string", "pattern": r"^(\d+[smhdwy])+$"}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
# What Grafana's documentation of file provisioning (and its reader) asks for. Source:
# https://grafana.com/docs/grafana/latest/alerting/set-up/provision-alerting-resources/file-provisioning/
STEP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["refId", "datasourceUid", "relativeTimeRange", "model"],
    "properties": {
        "refId": {"type": "string", "pattern": "^[A-Z]$"},
        "datasourceUid": {"type": "string", "minLength": 1},
        "relativeTimeRange": {
            "type": "object",
            "required": ["from", "to"],
            "additionalProperties": {"type": "integer", "minimum": 0},
        },
        "model": {"type": "object", "required": ["refId"]},
    },
}
RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["uid", "title", "condition", "data", "for", "noDataState", "execErrState"],
    "properties": {
        "uid": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,40}$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 190},
        "condition": {"type": "string", "pattern": "^[A-Z]$"},
        "data": {"type": "array", "minItems": 1, "items": STEP},
        "noDataState": {"enum": ["NoData", "Alerting", "OK", "KeepLast"]},
        "execErrState": {"enum": ["Error", "Alerting", "OK", "KeepLast"]},
        "for": DURATION,
        "keepFiringFor": DURATION,
        "annotations": TEXTS,
        "labels": TEXTS,
    },
}
GROUP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "folder", "interval", "rules"],
    "properties": {
        "orgId": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "minLength": 1},
        "folder": {"type": "string", "minLength": 1},
        # Grafana evaluates at multiples of ten seconds.
        "interval": {"type": "string", "pattern": r"^(\d*0s|\d+[mh])$"},
        "rules": {"type": "array", "minItems": 1, "items": RULE},
    },
}
FILE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "groups"],
    "properties": {"apiVersion": {"const": 1}, "groups": {"type": "array", "items": GROUP}},
}


def rules_of(file: Path) -> list[dict[str, Any]]:
    found = yaml.safe_load(file.read_text("utf-8"))
    return [rule for group in found["groups"] for rule in group["rules"]]


OURS, THEIRS = rules_of(ALERTS), rules_of(COMMITTED)


def test_the_file_is_what_the_command_writes() -> None:
    asked = ["export", "grafana-alerts", str(ALERTS), "--check", str(COMMITTED)]
    assert run(asked) == 0, "cronledger export grafana-alerts -o deploy/grafana-alerts.yaml"


def test_it_has_the_form_that_grafana_documents() -> None:
    jsonschema.validate(yaml.safe_load(COMMITTED.read_text("utf-8")), FILE)
    uids = [rule["uid"] for rule in THEIRS]
    assert len(uids) == len(set(uids)) == len(OURS)


@pytest.mark.parametrize("index", range(len(OURS)), ids=[rule["alert"] for rule in OURS])
def test_each_alert_asks_the_same_as_in_prometheus(index: int) -> None:
    ours, theirs = OURS[index], THEIRS[index]
    assert theirs["title"] == ours["alert"]
    assert theirs["data"][0]["model"]["expr"] == ours["expr"]
    assert theirs["for"] == ours.get("for", "0s")
    assert theirs.get("keepFiringFor") == ours.get("keep_firing_for")
    assert set(theirs["annotations"]) == set(ours["annotations"])
    assert set(theirs["labels"]) == set(ours["labels"])


@pytest.mark.parametrize("rule", THEIRS, ids=[rule["uid"] for rule in THEIRS])
def test_any_series_fires_and_none_does_not(rule: dict[str, Any]) -> None:
    query, whether, over = rule["data"]
    assert query["datasourceUid"] == "${CRONLEDGER_DATASOURCE_UID}"
    assert query["model"]["instant"] is True
    # A value of 0 and NaN fire too, as they do in Prometheus.
    assert whether["model"]["expression"] == "is_number($A) || is_nan($A) || is_inf($A)"
    assert over["model"]["expression"] == whether["refId"] == "B"
    assert over["model"]["conditions"] == [{"evaluator": {"type": "gt", "params": [0]}}]
    assert rule["condition"] == over["refId"] == "C"
    assert {step["datasourceUid"] for step in (whether, over)} == {"__expr__"}
    assert rule["noDataState"] == "OK"


def test_no_text_has_a_dollar_that_grafana_would_take_for_its_environment() -> None:
    for rule in THEIRS:
        texts = [*rule["annotations"].values(), *rule["labels"].values()]
        assert not [text for text in texts if "$" in text]
    (missing,) = [rule for rule in THEIRS if rule["uid"] == "CronledgerOccurrenceMissing"]
    assert missing["annotations"]["summary"].startswith("{{ .Labels.schedule }} has occurrences")
    assert missing["annotations"]["description"].startswith("{{ .Values.A.Value | humanize }} exp")
    assert missing["labels"]["severity"].startswith("{{ if .Labels.severity }}")


def test_every_recording_rule_that_it_reads_is_in_the_rules_for_prometheus() -> None:
    recorded = {rule["record"] for rule in rules_of(ROOT / "rules" / "cronledger.yaml")}
    asked = "\n".join(rule["data"][0]["model"]["expr"] for rule in THEIRS)
    named = set(re.findall(r"\b[a-z_]+:cronledger_\w+:\w+", asked))
    assert named
    assert named <= recorded


GOOD = "groups: [{name: g, interval: 30s, rules: [{alert: %s, expr: up == 0}]}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "a.yaml is not YAML"),
        ("", "a.yaml has no list 'groups'"),
        ("groups: [1]", "a.yaml has no list 'groups'"),
        ("groups: [{name: g, rules: []}]", "a.yaml: group g: 'interval' is not a text"),
        (
            "groups: [{name: g, interval: 30s, rules: [{record: 'a:b:c', expr: up}]}]",
            "a.yaml: group g: 'alert' is not a text",
        ),
        ("groups: [{name: g, interval: 30s, rules: [{alert: A}]}]", "group g: A: 'expr' is not a"),
        (GOOD % ("A" * 41), "is longer than 40 letters"),
        (
            "groups: [{name: g, interval: 30s, rules: [{alert: A, expr: a}, {alert: A, expr: b}]}]",
            "a.yaml: A is there twice",
        ),
    ],
)
def test_what_is_no_alert_file_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        grafana_alerts(text, "a.yaml")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_exits_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "grafana-alerts", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml cannot be read" in capsys.readouterr().err
    assert grafana_alerts(GOOD % "A", "a.yaml").count("uid: A\n") == 1
