"""YAML read as raw text: what its own typing would spoil, and that both loaders agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from schedule_files import NAME, problems, read_one

from cronledger.adapters.config.findings import Findings, Place
from cronledger.adapters.config.load import sample
from cronledger.adapters.config.nodes import Entry, ListNode, MapNode, Node, TextNode, raw
from cronledger.adapters.config.reader import LOADER, read
from cronledger.errors import ConfigError


def tree(text: str, loader: type[Any] = LOADER) -> Node:
    findings = Findings(NAME)
    root = read(text, findings, loader)
    assert root is not None
    assert not findings.problems
    return root


@pytest.mark.parametrize(
    "text",
    [
        *["22:30", "12:30:45", "2026-01-30", "010", "0x1F", "1e3", "1_000", "1.0", "-5", ".inf"],
        *["off", "no", "yes", "true", "null", "~", "="],
    ],
)
def test_a_plain_value_stays_the_text_it_is(text: str) -> None:
    assert raw(tree(f"key: {text}\n")) == {"key": text}


def test_a_tree_knows_the_place_of_every_key_and_value() -> None:
    assert tree('a:\n  - "x"\n  - y z\n') == MapNode(
        {
            "a": Entry(
                Place(1, 1),
                ListNode(
                    (
                        TextNode("x", Place(2, 5), plain=False, inset=1),
                        TextNode("y z", Place(3, 5), plain=True, inset=0),
                    ),
                    Place(2, 3),
                ),
            )
        },
        Place(1, 1),
    )


@pytest.mark.parametrize(
    ("scalar", "place"),
    [
        ("abc", Place(1, 6)),
        ("'abc'", Place(1, 7)),
        ('"abc"', Place(1, 7)),
        # Not shown character for character: the start of the value is all that is known.
        ('"a\\x62c"', Place(1, 4)),
        ("'a''c'", Place(1, 4)),
        ('"a\n  bc"', Place(1, 4)),
        ("|\n  abc", Place(1, 4)),
    ],
)
def test_a_character_of_a_value_has_its_place_where_the_file_shows_it(
    scalar: str, place: Place
) -> None:
    root = tree(f"k: {scalar}\n")
    assert isinstance(root, MapNode)
    value = root.entries["k"].value
    assert isinstance(value, TextNode)
    assert value.place_of(2) == place


def test_columns_count_characters_not_bytes() -> None:
    assert problems('version: 1\nschedules:\n  a: {"ключ": 1, cron: "0 25 * * *"}\n') == [
        "3:7: a: unknown key 'ключ'; known are cron, rrule, start, every, at, month_end, exdate, "
        "rdate, severity, team, class, runbook, timezone, dst, day_rule, any, calendar, except, "
        "roll, end, grace, objective, deadline, catchup, overlap, splay, job, versions, pause, "
        "skip, aliases, managed_by, matrix",
        "3:27: a: hour 25 is out of bounds; write 0 to 23",
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_read_over() -> None:
    text = '\ufeffversion: 1\r\nschedules:\r\n  a:\r\n    cron: "0 25 * * *"\r\n'
    assert problems(text) == ["4:14: a: hour 25 is out of bounds; write 0 to 23"]


def test_the_end_of_a_document_may_be_marked() -> None:
    assert raw(tree("---\na: b\n...\n")) == {"a": "b"}


def _of_reading(text: str, loader: type[Any]) -> tuple[Node | None, list[tuple[int, int]]]:
    findings = Findings(NAME)
    try:
        root = read(text, findings, loader)
    except ConfigError:
        root = None
    return root, [(problem.line, problem.column) for problem in findings.problems]


CASES_FILE = Path(__file__).parent.parent / "cases" / "files_refused.yaml"
TEXTS = [case["text"] for case in yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]]


@pytest.mark.parametrize("text", TEXTS)
def test_the_loader_without_the_c_library_reads_the_same(text: str) -> None:
    fast, places = _of_reading(text, yaml.CSafeLoader)
    slow, slow_places = _of_reading(text, yaml.SafeLoader)
    assert (slow and raw(slow)) == (fast and raw(fast))
    # Where a bracket is never closed, the two count the last line differently.
    if fast is not None or "{" not in text:
        assert slow_places == places


def test_both_loaders_give_the_same_places() -> None:
    assert tree(sample(), yaml.SafeLoader) == tree(sample(), yaml.CSafeLoader)


def test_a_surrogate_is_refused_where_the_loader_lets_it_through() -> None:
    findings = Findings(NAME)
    read('a: "\\ud800"\n', findings, yaml.SafeLoader)
    assert [str(problem) for problem in findings.problems] == [
        "schedules.yaml:1:4: character U+D800 cannot be stored; remove it"
    ]


def test_a_quoted_number_is_a_number_where_one_is_asked_for() -> None:
    assert read_one('cron: "0 2 * * *", job: {priority: "7"}').job.priority == 7
