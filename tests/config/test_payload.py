"""Payloads: the JSON that a file spells, and what cannot be stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_files import problems, read_one

NIGHTLY = 'cron: "0 2 * * *"'


def payload(text: str) -> Any:
    return read_one(f"{NIGHTLY}, job: {{payload: {text}}}").job.payload


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-12", -12),
        ("1.5", 1.5),
        ("1.", 1.0),
        ("-1e3", -1000.0),
        ("9007199254740993", 9007199254740993),
        # Everything else is text: other readers of YAML make times, numbers and truths of these.
        ("22:30", "22:30"),
        ("off", "off"),
        ("yes", "yes"),
        ("True", "True"),
        ("~", "~"),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("+1", "+1"),
        ("2026-01-30", "2026-01-30"),
        ("1.2.3", "1.2.3"),
        ('"true"', "true"),
        ("'12'", "12"),
        ('""', ""),
        ('"\\u00e9\\n"', "\u00e9\n"),
    ],
)
def test_a_value_is_what_json_says_or_else_text(text: str, value: Any) -> None:
    found = payload(f"{{a: {text}}}")["a"]
    assert found == value
    assert type(found) is type(value)


def test_a_payload_may_nest() -> None:
    assert payload("{a: [1, {b: [x, null]}], c: {}, 1: 2}") == {
        "a": [1, {"b": ["x", None]}],
        "c": {},
        "1": 2,
    }


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc \u00e9", max_size=5), inner)
    ),
    max_leaves=12,
)


@settings(deadline=5000)  # one example may take long on a busy machine
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=8), JSON, max_size=4))
def test_json_is_read_as_json_reads_it(value: dict[str, Any]) -> None:
    assert payload(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", "3:43: job: payload: expected a mapping, got a list; write {name: value}"),
        (
            "text",
            "3:43: job: payload: expected a mapping, got the text 'text'; write {name: value}",
        ),
        (
            "",
            "3:43: job: payload: expected a mapping, got nothing; write {name: value}",
        ),
        (
            "{a: 1e400}",
            "3:47: job: payload: 1e400 is too large for a number; put it in quotes",
        ),
        (
            "{a: [.inf]}",
            "3:48: job: payload: .inf is not a JSON number; put it in quotes if text is meant",
        ),
        (
            f"{{a: {'9' * 400}}}",
            "3:47: job: payload: a number of 400 characters; put it in quotes",
        ),
        ('{a: "\\0"}', "3:47: job: character U+0000 cannot be stored; remove it"),
        ('{"\\0": 1}', "3:44: job: character U+0000 cannot be stored; remove it"),
        (
            f"{{a: {'x' * 65536}}}",
            "3:43: job: payload: 65544 bytes of JSON, at most 65536 are stored; "
            "hold the data elsewhere",
        ),
    ],
)
def test_a_payload_that_cannot_be_stored_is_refused(text: str, expected: str) -> None:
    file = f"version: 1\nschedules:\n  job: {{{NIGHTLY}, job: {{payload: {text}}}}}\n"
    assert problems(file) == [expected]
