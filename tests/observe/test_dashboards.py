"""The dashboard: the file is what the builder writes, and keeps the rules of shared boards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cronledger.adapters.observe.dashboards import overview

ROOT = Path(__file__).parents[2]
BOARD: dict[str, Any] = json.loads(overview())
PANELS: list[dict[str, Any]] = [p for p in BOARD["panels"] if p["type"] != "row"]
TARGETS: list[tuple[str, str]] = [(p["title"], t["expr"]) for p in PANELS for t in p["targets"]]
EXPRESSIONS = [
    *(expr for _, expr in TARGETS),
    *(note["expr"] for note in BOARD["annotations"]["list"]),
]
SOURCE = {"type": "prometheus", "uid": "$datasource"}
# Grafana's own spelling of the units in use.
UNITS = {"none", "s", "percentunit"}


def test_the_file_is_what_the_builder_writes() -> None:
    assert (ROOT / "dashboards" / "overview.json").read_text() == overview()


def test_it_is_classic_json_that_file_provisioning_can_load() -> None:
    assert BOARD["schemaVersion"] == 39
    assert BOARD["editable"] is False
    assert BOARD["timezone"] == "browser"
    assert "__inputs" not in BOARD
    assert "id" not in BOARD


def test_there_is_one_data_source_variable_and_everything_uses_it() -> None:
    sources = [v for v in BOARD["templating"]["list"] if v["type"] == "datasource"]
    assert [(v["name"], v["label"]) for v in sources] == [("datasource", "Data source")]
    queries = [v for v in BOARD["templating"]["list"] if v["type"] == "query"]
    users = [*queries, *PANELS, *BOARD["annotations"]["list"]]
    users += [target for panel in PANELS for target in panel["targets"]]
    assert all(user["datasource"] == SOURCE for user in users)


@pytest.mark.parametrize("name", ["job", "queue"])
def test_query_variables_take_several_values_and_reload_with_the_time(name: str) -> None:
    (variable,) = [v for v in BOARD["templating"]["list"] if v["name"] == name]
    assert variable["label"] == name.capitalize()
    assert variable["multi"] is True
    assert variable["allValue"] == ".+"
    assert variable["refresh"] == 2


def test_every_panel_has_title_description_unit_and_target() -> None:
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["targets"], panel["title"]


def test_titles_and_numbers_are_given_once() -> None:
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_every_selector_asks_for_the_chosen_job() -> None:
    for expr in EXPRESSIONS:
        selectors = re.findall(r"[a-z_:]*cronledger_\w+(?::\w+)?(\{[^}]*\})?", expr)
        assert selectors
        assert all('job=~"$job"' in selector for selector in selectors), expr


def test_counters_stand_in_increase_over_the_rate_interval_only() -> None:
    for expr in EXPRESSIONS:
        counters = re.findall(r"(\w*)\(?cronledger_\w+_total\{[^}]*\}(\[[^\]]*\])?", expr)
        assert all(use == ("increase", "[$__rate_interval]") for use in counters), expr


def test_ranges_follow_the_rate_interval() -> None:
    for expr in EXPRESSIONS:
        assert set(re.findall(r"\[[^\]]*\]", expr)) <= {"[$__rate_interval]"}, expr


def test_folded_series_are_not_asked_for_an_instance() -> None:
    assert not [expr for expr in EXPRESSIONS if re.search(r"instance\s*=", expr)]


def test_the_first_row_answers_whether_anything_is_wrong_in_at_most_eight_panels() -> None:
    kinds = [panel["type"] for panel in BOARD["panels"]]
    rows = [index for index, kind in enumerate(kinds) if kind == "row"]
    assert BOARD["panels"][0]["title"] == "Is anything wrong now?"
    assert rows[1] - rows[0] - 1 <= 8


def test_panels_stay_on_the_grid_and_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_depth_stands_last_and_says_that_it_is_context() -> None:
    (title,) = {title for title, expr in TARGETS if "queue_jobs" in expr}
    assert title == PANELS[-1]["title"]
    assert "context only" in title
