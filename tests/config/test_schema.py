"""The schema for editors: it accepts what the reader accepts, and refuses most of the rest."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from schedule_files import refusal, zones

from cronledger.adapters.config.described import DESCRIPTIONS, EXAMPLES
from cronledger.adapters.config.load import sample
from cronledger.adapters.config.schema import file_schema, schema_text
from cronledger.core.schedule import DST_PRESETS
from cronledger.errors import ConfigError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "schedules.md", ROOT / "docs" / "check.md", ROOT / "README.md"]
BLOCK = re.compile(r"^ *```yaml\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
REFUSED = yaml.safe_load((ROOT / "tests" / "cases" / "files_refused.yaml").read_text("utf-8"))


class EditorLoader(yaml.SafeLoader):
    """YAML 1.2 as editors read it: no times, no octal by a leading zero, only true and false."""


EditorLoader.yaml_implicit_resolvers = {}
for pattern, tag, first in (
    (r"true|false", "bool", "tf"),
    (r"null|~|", "null", ["n", "~", ""]),
    (r"[-+]?[0-9]+", "int", "-+0123456789"),
    (r"[-+]?[0-9]*\.[0-9]+", "float", "-+.0123456789"),
):
    EditorLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first)
    )


def _int(loader: EditorLoader, node: Any) -> int:
    return int(loader.construct_scalar(node))


EditorLoader.add_constructor("tag:yaml.org,2002:int", _int)


@cache
def validator() -> jsonschema.Draft202012Validator:
    schema = file_schema(zones().names())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def complaints(text: str) -> list[str]:
    seen = yaml.load(text, Loader=EditorLoader)
    return [str(error.message) for error in validator().iter_errors(seen)]


def examples() -> list[str]:
    blocks = [block for page in PAGES for block in BLOCK.findall(page.read_text("utf-8"))]
    return [re.sub(r"^   ", "", block, flags=re.MULTILINE) if block[0] == " " else block
            for block in blocks]  # fmt: skip


@pytest.mark.parametrize("text", [sample(), *examples()])
def test_files_that_are_read_fit_the_schema(text: str) -> None:
    assert complaints(text) == []


@pytest.mark.parametrize(
    "settings",
    [
        'cron: "@daily"',
        "cron: {expr: '*/5 * * * * *', fields: 6s}",
        "cron: {expr: '0 2 * * *', fields: 5}",
        'cron: "0 2 * * *", start: 2026-01-01, end: 2027-01-01T00:00:00+02:00',
        'cron: "0 2 * * *", grace: 90s, objective: P1DT12H, deadline: P2W',
        'cron: "0 2 * * *", catchup: {max: "7"}, job: {kind: 007, payload: {a: [1]}}',
        *(f'cron: "0 2 * * *", dst: {preset}' for preset in DST_PRESETS),
        'cron: "0 2 * * *", dst: {gap: skip}, day_rule: and, timezone: Etc/GMT+5',
    ],
)
def test_every_form_of_a_value_fits(settings: str) -> None:
    assert complaints(f"version: 1\nschedules: {{a: {{{settings}}}}}") == []


@pytest.mark.parametrize(
    "settings",
    [
        'cron: "0 2 * * *", gracee: PT5M',
        'cron: "0 0 2 * * *"',
        'cron: "0 2 * * *", timezone: Europe/Berln',
        'cron: "0 2 * * *", dst: summer',
        'cron: "0 2 * * *", grace: 5 minutes',
        'cron: "0 2 * * *", grace: P',
        'cron: "0 2 * * *", catchup: {max: 0}',
        'cron: "0 2 * * *", start: tomorrow',
        'cron: "0 2 * * *", job: {payload: [1]}',
        "timezone: UTC",
    ],
)
def test_a_mistake_in_a_value_is_seen(settings: str) -> None:
    assert complaints(f"version: 1\nschedules: {{a: {{{settings}}}}}")


def _whole(case: dict[str, Any]) -> str:
    head = "version: 1\nschedules:\n" if case.get("head", True) else ""
    return head + str(case["text"])


# A schema does not see what a cron means, what values mean together, or a duplicate key.
SEEN = 0.7


def test_the_schema_refuses_most_of_the_files_that_are_refused() -> None:
    seen = 0
    for case in REFUSED["cases"]:
        text = _whole(case)
        with pytest.raises(ConfigError):
            raise refusal(text)
        try:
            seen += bool(complaints(text))
        except (yaml.YAMLError, ValueError, RecursionError):
            seen += 1  # an editor shows broken syntax by itself
    assert seen / len(REFUSED["cases"]) >= SEEN, f"{seen} of {len(REFUSED['cases'])}"


def test_every_key_is_described_and_every_description_is_used() -> None:
    schema = json.loads(schema_text(zones().names()))
    shapes = [schema, *(shape for shape in schema["$defs"].values() if "properties" in shape)]
    for shape in shapes:
        for key, value in shape["properties"].items():
            assert value.get("description"), key
    names = {key for shape in shapes for key in shape["properties"]}
    assert {key.rsplit(".", 1)[-1] for key in (*DESCRIPTIONS, *EXAMPLES)} <= names


def test_defaults_and_zones_are_in_the_schema() -> None:
    shapes = file_schema(zones().names())["$defs"]
    assert "Europe/Berlin" in shapes["timezone"]["enum"]
    assert shapes["schedule"]["properties"]["grace"]["default"] == "PT5M"
    assert shapes["catchup"]["properties"]["max"]["default"] == 100
    assert shapes["backoff"]["properties"]["base"]["default"] == "PT2S"


def test_nothing_in_the_schema_is_null_or_titled_by_a_class() -> None:
    text = schema_text(zones().names())
    assert '"null"' not in text
    assert "Model" not in text
