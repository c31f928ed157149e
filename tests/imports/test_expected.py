"""The files of people who do this job: each entry is decided as expected, at the same instants."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from import_sources import CASES, about, codes, imported, loaded, owed, utc

from cronledger.adapters.imports.model import CronTrigger, Decision, Imported, Origin
from cronledger.core.instants import Window, format_instant, from_epoch

EXPECTED: dict[str, Any] = yaml.safe_load((CASES / "expected.yaml").read_text("utf-8"))
FILES: list[dict[str, Any]] = EXPECTED["files"]
FROM, TO = utc("2026-03-27T00:00:00+00:00"), utc("2030-01-01T00:00:00+00:00")


def read(case: dict[str, Any]) -> Imported:
    folder = case["file"].split("/")[0]
    return imported(Origin(folder), (CASES / case["file"]).read_bytes(), path=case["file"])


def first(found: Imported, name: str, count: int) -> list[str]:
    file = loaded(found)
    return [format_instant(from_epoch(i)) for i in owed(file, name, Window(FROM, TO))[:count]]


def test_every_case_file_has_its_expectation() -> None:
    folders = [folder for folder in CASES.iterdir() if folder.is_dir() and folder.name != "own"]
    found = {str(f.relative_to(CASES)) for folder in folders for f in folder.rglob("*.*")}
    assert found == {case["file"] for case in FILES}


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["file"])
def test_every_entry_is_decided_as_expected(case: dict[str, Any]) -> None:
    found = read(case)
    decided = [(entry.line, entry.decision.value) for entry in found.entries]
    assert decided == [(entry["line"], entry["decision"]) for entry in case["schedules"]]
    assert {
        "schedules": len(found.entries),
        "carried": len(found.entries) - found.count(Decision.REFUSE),
        "of_which_with_warning": found.count(Decision.WARN),
        "refused": found.count(Decision.REFUSE),
    } == case["expect"]


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["file"])
def test_every_warning_asked_for_is_given(case: dict[str, Any]) -> None:
    found = read(case)
    assert set(case.get("file_must_warn", ())) <= set(about(found))
    for entry, wanted in zip(found.entries, case["schedules"], strict=True):
        assert set(wanted.get("must_warn", ())) <= set(codes(entry))
        assert all(caution.message for caution in entry.cautions)
        if entry.decision is Decision.REFUSE:
            assert entry.refusal
        else:
            assert f"# line {entry.line}: " in found.text


@pytest.mark.parametrize(
    "case",
    [c for c in FILES if any("first_utc" in entry for entry in c["schedules"])],
    ids=lambda case: case["file"],
)
def test_every_carried_entry_owes_the_instants_of_its_source(case: dict[str, Any]) -> None:
    found = read(case)
    for entry, wanted in zip(found.entries, case["schedules"], strict=True):
        if entry.refusal or "first_utc" not in wanted:
            continue
        at_source = wanted.get("first_utc_at_source", "same")
        expected = wanted["first_utc"] if at_source == "same" else at_source
        assert first(found, entry.id, len(expected)) == expected
        if isinstance(entry.trigger, CronTrigger):
            assert (entry.zone or "system") in {wanted["zone"], "system"}


def test_a_source_without_entries_says_so() -> None:
    found = imported(
        Origin.CRONTAB, (CASES / "crontab/21-everything-commented.crontab").read_bytes()
    )
    assert about(found) == ["nothing-found"]
    assert loaded(found).schedules == {}
