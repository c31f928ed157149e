"""Each form of a reconcile is read by a parser of its own, with names made to break it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cronledger.adapters.report.schema import report_schema
from cronledger.cli import report_rows, report_text
from cronledger.cli.report_rows import Csv, Json, Lines, Rows, Table
from cronledger.core.diff import Finding, OccurrenceClass
from cronledger.core.instants import format_epoch
from cronledger.core.report import Filler, Report
from report_samples import (
    DAY,
    HOSTILE,
    NOW,
    finding,
    hostile,
    hourly,
    report,
    section,
    words_of,
)

EVERY = list(OccurrenceClass)
Keys = list[tuple[str, Finding]]


@pytest.fixture(scope="module")
def sample() -> tuple[Report, Keys]:
    return hostile()


def written(rows: Rows, sample: tuple[Report, Keys], capsys: pytest.CaptureFixture[str]) -> str:
    """What a writer wrote since it was made, and of the sample."""
    made, keys = sample
    for name, one in keys:
        rows.key(name, one)
    rows.end(made)
    return capsys.readouterr().out


def json_writer(made: Report) -> Json:
    return Json(EVERY, made.file, made.now, made.window)


def test_json_follows_its_schema_and_sums_up(
    sample: tuple[Report, Keys], capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(written(json_writer(sample[0]), sample, capsys))
    Draft202012Validator.check_schema(report_schema())
    Draft202012Validator(report_schema()).validate(found)
    assert {row["schedule"] for row in found["occurrences"]} == set(HOSTILE)
    assert found["summary"] == dict(Counter(row["class"] for row in found["occurrences"]))
    assert set(found["schedules"]) == set(HOSTILE)
    for name, one in found["schedules"].items():
        rows = [row for row in found["occurrences"] if row["schedule"] == name]
        assert one["summary"] == Counter(row["class"] for row in rows)
        assert one["expected"] == sum(row["class"] != "unexpected" for row in rows)
        (gap,) = one["gaps"]
        assert gap["count"] == one["summary"]["missing"] == 1
        assert words_of(gap["command"])[3] == name


def test_json_without_a_key_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    empty = report([], hostile()[0].window)
    found = json.loads(written(json_writer(empty), (empty, []), capsys))
    Draft202012Validator(report_schema()).validate(found)
    assert (found["occurrences"], found["schedules"]) == ([], {})


def test_the_schema_refuses_what_it_should(
    sample: tuple[Report, Keys], capsys: pytest.CaptureFixture[str]
) -> None:
    text = written(json_writer(sample[0]), sample, capsys)
    spoilers: list[Callable[[Any], object]] = [
        lambda found: found.pop("summary"),
        lambda found: found["occurrences"][0].pop("claimed_at"),
        lambda found: found["occurrences"][0].update({"class": "mising"}),
        lambda found: found["window"].update({"to": "2026-12-01 12:00"}),
        lambda found: found.update({"schema_version": 2}),
    ]
    for spoil in spoilers:
        found = json.loads(text)
        spoil(found)
        assert not Draft202012Validator(report_schema()).is_valid(found)


def test_the_schema_has_every_field_of_a_key_in_the_order_of_csv() -> None:
    properties = report_schema()["$defs"]["occurrence"]["properties"]
    assert tuple(properties) == report_rows.FIELDS


def test_json_lines_are_an_occurrence_each(
    sample: tuple[Report, Keys], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = written(Lines(EVERY), sample, capsys).split("\n")
    whole = report_schema()
    line = Draft202012Validator({"$ref": "#/$defs/occurrence", "$defs": whole["$defs"]})
    found = [json.loads(text) for text in lines[:-1]]
    assert lines[-1] == ""
    for row in found:
        line.validate(row)
    assert [row["key"] for row in found] == [
        f"{name}:{format_epoch(one.epoch)}" for name, one in sample[1]
    ]


def test_csv_is_read_back(sample: tuple[Report, Keys], capsys: pytest.CaptureFixture[str]) -> None:
    text = written(Csv(EVERY), sample, capsys)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert [row["schedule"] for row in rows] == [name for name, _ in sample[1]]
    assert {tuple(row) for row in rows} == {report_rows.FIELDS}
    missing = next(row for row in rows if row["class"] == "missing")
    assert (missing["recorded_at"], missing["job_id"]) == ("", "")


def test_csv_without_a_key_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    empty = report([], hostile()[0].window)
    assert written(Csv(EVERY), (empty, []), capsys) == ",".join(report_rows.FIELDS) + "\n"


def test_only_the_classes_asked_for_are_written(
    sample: tuple[Report, Keys], capsys: pytest.CaptureFixture[str]
) -> None:
    text = written(Lines([OccurrenceClass.DEAD]), sample, capsys)
    assert {json.loads(line)["class"] for line in text.splitlines()} == {"dead"}


def test_the_table_names_the_gravest_first_and_sums_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    window = hostile()[0].window
    keys = hourly(24, {2: OccurrenceClass.LATE, 5: OccurrenceClass.MISSING})
    made = report([section("h", keys, window)], window)
    text = written(Table([OccurrenceClass.LATE, OccurrenceClass.MISSING]),
                   (made, [("h", key) for key in keys]), capsys)  # fmt: skip
    head, first, second, last = text.splitlines()
    assert head.split()[:2] == ["KEY", "CLASS"]
    assert first.split()[:2] == ["h:2026-12-01T07:00:00Z", "missing"]
    assert second.split()[:2] == ["h:2026-12-01T10:00:00Z", "late"]
    assert "1 schedule, 24 expected, 23 recorded; 22 completed, 1 late, 1 missing" in last


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def cells(found: list[Token]) -> list[list[Token]]:
    """The content of each cell of the bodies of tables."""
    inner = [
        found[place + 1].children or []
        for place, token in enumerate(found)
        if token.type == "td_open"
    ]
    return [list(one) for one in inner]


def spelled(name: str) -> str:
    """A name on one line, as a person would write what is not to be seen."""
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\u202e": "\\u202e", "\u2028": "\\u2028"}
    return "".join(named.get(char, char) for char in name)


def test_markdown_keeps_each_name_in_one_cell(sample: tuple[Report, Keys]) -> None:
    found = tokens(report_text.markdown(sample[0]))
    rows = cells(found)
    names = rows[::4]
    assert sorted(name[0].content for name in names) == sorted(map(spelled, HOSTILE))
    assert {tuple(token.type for token in name) for name in names} == {("code_inline",)}
    blocks = [token for token in found if token.type == "html_block"]
    assert all(re.match(r"</?details>", block.content) for block in blocks)
    (fence,) = [token for token in found if token.type == "fence"]
    named = [words_of(command)[3] for command in fence.content.splitlines()]
    assert sorted(named) == sorted(HOSTILE)


def test_markdown_says_so_when_all_is_well() -> None:
    window = hostile()[0].window
    text = report_text.markdown(report([section("h", hourly(24, {}), window)], window))
    assert text == (
        "### cronledger: nothing is missing in 1 schedule\n\n"
        "2026-11-30T12:00:00Z to 2026-12-01T12:00:00Z: 1 schedule, 24 expected, 24 recorded; "
        "24 completed.\n"
    )


def test_markdown_fits_into_a_comment_however_much_is_wrong() -> None:
    window = hostile()[0].window
    odd = dict.fromkeys(range(1, 24, 2), OccurrenceClass.MISSING)
    many = [section(f"{'s' * 60}{n:03}", hourly(24, odd), window) for n in range(900)]
    text = report_text.markdown(report(many, window))
    assert len(text) < 65_536
    assert "900 of 900 schedules need attention" in text
    assert f"And {900 - report_text.SCHEDULES_SHOWN} more" in text
    assert f"And {900 * 12 - report_text.GAPS_SHOWN} more" in text


def workflow_command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a line as GitHub's runner does: the rules of its toolkit, not ours."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    command, _, listed = head.partition(" ")
    properties = dict(pair.split("=", 1) for pair in listed.split(",") if pair)

    def decoded(text: str, codes: dict[str, str]) -> str:
        for code, char in codes.items():
            text = text.replace(code, char)
        return text.replace("%25", "%")

    ends = {"%0D": "\r", "%0A": "\n"}
    return (
        command,
        {key: decoded(value, ends | {"%3A": ":", "%2C": ","}) for key, value in properties.items()},
        decoded(data, ends),
    )


def test_annotations_name_the_schedule_and_its_place(sample: tuple[Report, Keys]) -> None:
    made = sample[0]
    lines = list(report_text.workflow_commands(made, [OccurrenceClass.MISSING], lambda _: (7, 3)))
    assert all("\n" not in line and "\r" not in line for line in lines)
    found = [workflow_command(line) for line in lines]
    shown = report_text.ANNOTATIONS_MAX
    titles = {properties["title"] for _, properties, _ in found[:shown]}
    assert titles == {f"cronledger reconcile: {one.schedule}" for one in made.sections[:shown]}
    for level, properties, message in found[:shown]:
        place = {key: properties[key] for key in ("file", "line", "col")}
        assert (level, place) == ("error", {"file": "schedules.yaml", "line": "7", "col": "3"})
        name = properties["title"].removeprefix("cronledger reconcile: ")
        assert words_of(message.partition("fill: ")[2])[3] == name
    assert found[shown][2] == f"and {len(HOSTILE) - shown} more schedules"
    assert [level for level, _, _ in found[shown + 1 :]] == ["notice"]


def test_annotations_warn_of_what_the_gate_does_not_fail_on() -> None:
    window = hostile()[0].window
    sections = [
        section("gone", hourly(24, {3: OccurrenceClass.ORPHANED}), window),
        section("fine", hourly(24, {}), window),
    ]
    made = report(sections, window)
    lines = list(report_text.workflow_commands(made, [OccurrenceClass.MISSING], lambda _: None))
    levels = [workflow_command(line) for line in lines]
    assert [(level, sorted(properties)) for level, properties, _ in levels] == [
        ("warning", ["file", "title"]),
        ("notice", ["title"]),
    ]
    assert levels[0][2].startswith("1 orphaned in 2026-11-30T12:00:00Z to ")


def test_nothing_of_ours_fills_what_another_scheduler_runs() -> None:
    window = hostile()[0].window
    keys = [finding(NOW - DAY / 2, OccurrenceClass.MISSING)]
    for filler, why in ((Filler.MANAGED, "another scheduler"), (Filler.GONE, "not in schedules")):
        made = report([section("x", keys, window, filler)], window)
        assert why in report_text.markdown(made)
        lines = list(report_text.workflow_commands(made, EVERY, lambda _: None))
        assert why in lines[0]
        assert "backfill" not in lines[0] + report_text.markdown(made)


def test_hints_quote_what_a_shell_would_read() -> None:
    odd = replace(hostile()[0], file="my $(file).yaml", selected=("a b",))
    (fill, omitted) = report_text.hints(odd)
    words = words_of(fill.partition(": ")[2])
    assert words[:4] == ["cronledger", "backfill", "my $(file).yaml", "a b"]
    assert omitted.endswith(" --include omitted")
