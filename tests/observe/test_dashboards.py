"""The dashboards: the files are what the builder writes, and keep the rules of shared boards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cronledger.adapters.observe.boards import boards

ROOT = Path(__file__).parents[2]
BOARDS: dict[str, dict[str, Any]] = {name: json.loads(text) for name, text in boards().items()}


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    return BOARDS[request.param]


def panels_of(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions_of(board: dict[str, Any]) -> list[str]:
    return [
        *(target["expr"] for panel in panels_of(board) for target in panel["targets"]),
        *(note["expr"] for note in board["annotations"]["list"]),
    ]


SOURCE = {"type": "prometheus", "uid": "$datasource"}
# Grafana's own spelling of the units in use.
UNITS = {"none", "s", "percentunit", "dateTimeFromNow", "bool_yes_no"}


def test_the_files_are_what_the_builder_writes() -> None:
    found = {file.name: file.read_text() for file in (ROOT / "dashboards").glob("*.json")}
    assert found == boards()


def test_every_board_has_an_address_of_its_own() -> None:
    assert {board["uid"] for board in BOARDS.values()} == {
        "cronledger-overview",
        "cronledger-schedule",
        "cronledger-queues",
        "cronledger-reconcile",
    }


def test_obs55_it_is_classic_json_that_file_provisioning_can_load(board: dict[str, Any]) -> None:
    assert board["schemaVersion"] == 39
    assert board["editable"] is False
    assert board["timezone"] == "browser"
    assert "__inputs" not in board
    assert "id" not in board


def test_there_is_one_data_source_variable_and_everything_uses_it(board: dict[str, Any]) -> None:
    sources = [v for v in board["templating"]["list"] if v["type"] == "datasource"]
    assert [(v["name"], v["label"]) for v in sources] == [("datasource", "Data source")]
    queries = [v for v in board["templating"]["list"] if v["type"] == "query"]
    users = [*queries, *panels_of(board), *board["annotations"]["list"]]
    users += [target for panel in panels_of(board) for target in panel["targets"]]
    assert all(user["datasource"] == SOURCE for user in users)


def test_query_variables_take_several_values_and_reload_with_the_time(
    board: dict[str, Any],
) -> None:
    variables = [v for v in board["templating"]["list"] if v["type"] == "query"]
    assert variables[0]["name"] == "job"
    for variable in variables:
        assert variable["label"] == variable["name"].capitalize()
        assert variable["multi"] is True
        assert variable["allValue"] == ".+"
        assert variable["refresh"] == 2


def test_every_panel_has_title_description_unit_and_target(board: dict[str, Any]) -> None:
    for panel in panels_of(board):
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["targets"], panel["title"]


def test_titles_and_numbers_are_given_once(board: dict[str, Any]) -> None:
    assert len({panel["title"] for panel in panels_of(board)}) == len(panels_of(board))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_every_selector_asks_for_the_chosen_job(board: dict[str, Any]) -> None:
    for expr in expressions_of(board):
        selectors = re.findall(r"[a-z_:]*cronledger_\w+(?::\w+)?(\{[^}]*\})?", expr)
        assert selectors
        assert all('job=~"$job"' in selector for selector in selectors), expr


def test_counters_stand_in_increase_over_the_rate_interval_only(board: dict[str, Any]) -> None:
    for expr in expressions_of(board):
        counters = re.findall(r"(\w*)\(?cronledger_\w+_total\{[^}]*\}(\[[^\]]*\])?", expr)
        assert all(use == ("increase", "[$__rate_interval]") for use in counters), expr


def test_ranges_follow_the_rate_interval(board: dict[str, Any]) -> None:
    for expr in expressions_of(board):
        assert set(re.findall(r"\[[^\]]*\]", expr)) <= {"[$__rate_interval]"}, expr


def test_folded_series_are_not_asked_for_an_instance(board: dict[str, Any]) -> None:
    assert not [expr for expr in expressions_of(board) if re.search(r"instance\s*=", expr)]


def test_the_first_row_answers_whether_anything_is_wrong_in_at_most_eight_panels() -> None:
    board = BOARDS["overview.json"]
    kinds = [panel["type"] for panel in board["panels"]]
    rows = [index for index, kind in enumerate(kinds) if kind == "row"]
    assert board["panels"][0]["title"] == "Is anything wrong now?"
    assert rows[1] - rows[0] - 1 <= 8


def test_panels_stay_on_the_grid_and_do_not_overlap(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
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
    found = [
        (name, panel)
        for name, board in BOARDS.items()
        for panel in panels_of(board)
        if any("queue_jobs" in target["expr"] for target in panel["targets"])
    ]
    ((name, panel),) = found
    assert panel == panels_of(BOARDS[name])[-1]
    assert "context only" in panel["title"]
