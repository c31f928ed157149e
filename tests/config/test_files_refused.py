"""Files that are refused, with every line that people see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from schedule_files import problems, refusal

CASES_FILE = Path(__file__).parent.parent / "cases" / "files_refused.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]


def whole(case: dict[str, Any]) -> str:
    head = "version: 1\nschedules:\n" if case.get("head", True) else ""
    return head + str(case["text"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["title"]))
def test_the_file_is_refused_with_all_its_problems_in_order(case: dict[str, Any]) -> None:
    assert problems(whole(case)) == case["problems"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["title"]))
def test_every_problem_has_a_place_and_says_what_to_write(case: dict[str, Any]) -> None:
    for problem in refusal(whole(case)).problems:
        assert problem.line >= 1
        assert problem.column >= 1
        what, _, instead = problem.message.partition("; ")
        assert what
        # A cron or a time that cannot be read shows what was expected in place of a hint.
        assert instead or "expected" in what


def test_a_refusal_exits_with_two() -> None:
    assert refusal("").exit_code == 2


def test_problems_of_every_part_come_out_in_one_go() -> None:
    text = """version: 1
defaults: {timezone: Nowhere}
queues: {mail: {lease: no}}
schedules:
  a: {cron: "61 * * * *", grace: no}
  a: {}
  b: {cron: "* * * * *", kind: x, job: {payload: {y: 1e999}}}
"""
    subjects = [problem.subject for problem in refusal(text).problems]
    assert subjects == ["", "mail", "a", "a", "a", "b", "b"]


def test_a_file_with_one_mistake_many_times_is_cut_and_says_so() -> None:
    rows = "".join(f"  job-{number}: {{}}\n" for number in range(2000))
    lines = problems(f"version: 1\nschedules:\n{rows}")
    assert len(lines) == 1001
    assert lines[0].startswith("3:3: job-0: missing key 'cron'")
    assert lines[-1].endswith("1000 problems found; the rest is not shown, mend these first")
