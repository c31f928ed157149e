"""How alert rules of Prometheus are spelled for Grafana, which then evaluates them itself.

Source: Grafana's documentation of file provisioning for alerting, and what its own import of
Prometheus rules makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from cronledger.errors import ConfigError

# Grafana fills it from its own environment when it loads the file.
SOURCE = "${CRONLEDGER_DATASOURCE_UID}"
FOLDER = "cronledger"
UID_LENGTH_MAX = 40
LOOK_BACK_SECONDS = 600
_HEAD = """\
# The alerts of cronledger for Grafana, written by `cronledger export grafana-alerts`.
#
# Grafana takes the data source's uid from its environment: CRONLEDGER_DATASOURCE_UID. The recording
# rules stay in Prometheus: load rules/cronledger.yaml there.
"""
# Where Prometheus has `$value`, Grafana has a text of all values; and a `$` may be an environment
# variable of Grafana's, so that none is left in the texts.
_TEMPLATES = ((re.compile(r"\$labels\b"), ".Labels"), (re.compile(r"\$value\b"), ".Values.A.Value"))
_EXPRESSION = "__expr__"


def grafana_alerts(text: str, name: str) -> str:
    """The provisioning file for the alerts in `text`, which was read from the file `name`.

    Raises ConfigError if they are not alert rules of Prometheus.
    """
    groups = [_group(group, name) for group in _listed(_parsed(text, name), "groups", name)]
    titles = [rule["title"] for group in groups for rule in group["rules"]]
    if twice := sorted({title for title in titles if titles.count(title) > 1}):
        raise ConfigError(f"{name}: {twice[0]} is there twice; give each alert its own name")
    body = {"apiVersion": 1, "groups": groups}
    return _HEAD + yaml.dump(body, Dumper=_Readable, sort_keys=False, width=100)


def _parsed(text: str, name: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        where = " ".join(str(error).split())
        raise ConfigError(f"{name} is not YAML ({where}); name a file of alert rules") from None


def _listed(found: Any, key: str, where: str) -> Iterator[Mapping[str, Any]]:
    items = found.get(key) if isinstance(found, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ConfigError(f"{where} has no list {key!r}; name a file of alert rules")
    yield from items


def _group(group: Mapping[str, Any], name: str) -> dict[str, Any]:
    where = f"{name}: group {group.get('name', 'without a name')}"
    return {
        "orgId": 1,
        "name": _text(group, "name", where),
        "folder": FOLDER,
        "interval": _text(group, "interval", where),
        "rules": [_rule(rule, where) for rule in _listed(group, "rules", where)],
    }


def _rule(rule: Mapping[str, Any], where: str) -> dict[str, Any]:
    title = _text(rule, "alert", where)
    if len(title) > UID_LENGTH_MAX:
        raise ConfigError(f"{where}: {title} is longer than {UID_LENGTH_MAX} letters; shorten it")
    expr = _text(rule, "expr", f"{where}: {title}")
    keep = {"keepFiringFor": rule["keep_firing_for"]} if "keep_firing_for" in rule else {}
    return {
        "uid": title,
        "title": title,
        "condition": "C",
        "data": [_query(expr), *_whether_any()],
        # No series is what Prometheus calls inactive. An error is told: nobody else would.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": rule.get("for", "0s"),
        **keep,
        "annotations": _templates(rule.get("annotations", {})),
        "labels": _templates(rule.get("labels", {})),
    }


def _text(found: Mapping[str, Any], key: str, where: str) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where}: {key!r} is not a text; name a file of alert rules")
    return value


def _query(expr: str) -> dict[str, Any]:
    return {
        "refId": "A",
        "relativeTimeRange": {"from": LOOK_BACK_SECONDS, "to": 0},
        "datasourceUid": SOURCE,
        "model": {"refId": "A", "expr": expr, "instant": True, "range": False},
    }


def _whether_any() -> list[dict[str, Any]]:
    """Any series fires, whatever its value: 0 (`== 0`) and NaN would not by themselves."""
    return [
        _step("B", type="math", expression="is_number($A) || is_nan($A) || is_inf($A)"),
        _step(
            "C",
            type="threshold",
            expression="B",
            conditions=[{"evaluator": {"type": "gt", "params": [0]}}],
        ),
    ]


def _step(ref: str, **model: Any) -> dict[str, Any]:
    source = {"type": _EXPRESSION, "uid": _EXPRESSION}
    return {
        "refId": ref,
        "relativeTimeRange": {"from": 0, "to": 0},
        "datasourceUid": _EXPRESSION,
        "model": {"refId": ref, "datasource": source, **model},
    }


def _templates(texts: Mapping[str, Any]) -> dict[str, str]:
    return {key: _template(str(text)) for key, text in texts.items()}


def _template(text: str) -> str:
    for pattern, spelled in _TEMPLATES:
        text = pattern.sub(spelled, text)
    return text


class _Readable(yaml.SafeDumper):
    """Writes queries of several lines as they were."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _represent)
