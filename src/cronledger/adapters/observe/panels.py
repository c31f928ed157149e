"""How a Grafana dashboard is spelled: classic JSON, schemaVersion 39, laid out on 24 columns.

The data source is a variable, because `__inputs` are filled by hand-made imports only. Colour says
judgement (green, yellow, red), never which series it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = 39
WIDTH = 24
_ROW_HEIGHT = 1

_DATASOURCE = {"type": "prometheus", "uid": "$datasource"}


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL expression and the legend of its series. `instant`: only its value of now."""

    expr: str
    legend: str = ""
    instant: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `kind` and `unit` in Grafana's spelling; `width` in columns, `height` in rows.

    `thresholds` maps the value from which a colour holds to the colour; the first is the base.
    """

    kind: str
    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "none"
    width: int = 12
    height: int = 8
    thresholds: Mapping[float, str] = field(default_factory=dict)
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A titled row of panels, filled from the left and wrapped at the right edge."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A drop-down of label values, several at once, all by default. `every` is what All means."""

    name: str
    label: str
    query: str
    every: str = ".+"


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard; `span` is its default time range, such as `now-24h`."""

    uid: str
    title: str
    description: str
    span: str
    variables: tuple[Variable, ...]
    annotations: Mapping[str, str]
    rows: tuple[Row, ...]


def to_json(dashboard: Dashboard) -> str:
    """The file that Grafana imports; the same dashboard is the same text."""
    return json.dumps(_dashboard(dashboard), indent=2, ensure_ascii=False) + "\n"


def _dashboard(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["cronledger"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "timezone": "browser",
        "refresh": "1m",
        "graphTooltip": 1,
        "time": {"from": dashboard.span, "to": "now"},
        "timepicker": {},
        "links": [],
        "annotations": {
            "list": [_annotation(name, expr) for name, expr in dashboard.annotations.items()]
        },
        "templating": {"list": [_datasource(), *map(_variable, dashboard.variables)]},
        "panels": list(_panels(dashboard.rows)),
    }


def _annotation(name: str, expr: str) -> dict[str, Any]:
    return {
        "name": name,
        "datasource": _DATASOURCE,
        "enable": True,
        "expr": expr,
        "iconColor": "blue",
        "titleFormat": name,
    }


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
    }


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "definition": variable.query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": variable.every,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }


def _panels(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number = 1
    top = 0
    for row in rows:
        yield _row(number, row.title, top)
        number += 1
        top += _ROW_HEIGHT
        left = tallest = 0
        for panel in row.panels:
            if left + panel.width > WIDTH:
                left, top, tallest = 0, top + tallest, 0
            yield _panel(number, panel, left, top)
            number += 1
            left += panel.width
            tallest = max(tallest, panel.height)
        top += tallest


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": _ROW_HEIGHT},
        "panels": [],
    }


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _DATASOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": panel.height},
        "targets": [_target(index, query) for index, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel.kind),
    }


def _target(index: int, query: Query) -> dict[str, Any]:
    target: dict[str, Any] = {
        "refId": chr(ord("A") + index),
        "datasource": _DATASOURCE,
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "instant": query.instant,
        "range": not query.instant,
    }
    return target | {"format": "table"} if query.instant else target


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.thresholds:
        defaults["color"] = {"mode": "thresholds"}
        defaults["thresholds"] = {"mode": "absolute", "steps": list(_steps(panel.thresholds))}
    if panel.kind == "gauge":
        defaults |= {"min": 0, "max": 1}
    if panel.kind == "timeseries":
        defaults["custom"] = {
            "fillOpacity": 10,
            "lineWidth": 1,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none"},
        }
    return defaults


def _steps(thresholds: Mapping[float, str]) -> Iterator[dict[str, Any]]:
    # Grafana wants the base step to begin at null.
    for index, (value, colour) in enumerate(thresholds.items()):
        yield {"value": value if index else None, "color": colour}


def _options(kind: str) -> dict[str, Any]:
    match kind:
        case "stat" | "gauge":
            return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
        case "timeseries":
            return {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        case _:
            return {}
