"""promtool's tests, judged by broken rules: each of the mutants has to make one of them fail.

`make test` takes one in `SAMPLED`, always the same ones; `make test-all` takes them all.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from mutants import Mutant, mutants_of, name_of
from promtool import promtool

ROOT = Path(__file__).parents[2]
FILES = (Path("rules/cronledger.yaml"), Path("alerts/cronledger.yaml"))
SAMPLED = 25
# Where promtool keeps the series of a test: in memory, or each of them waits for the disk.
MEMORY = Path("/dev/shm")

# No fault at all, each with the reason.
HARMLESS = {
    # What is critical or a warning is there already, and `or` takes nothing for it.
    """schedule:cronledger_routing:strictest: line 15: '{severity!~"critical|warning"}' to ''""",
    # It asks whether there was a snapshot at all: NaN is dropped by any comparison, and passed over
    # by `max` and `min` alike; no snapshot is of the first second of 1970.
    "CronledgerReconcileStale: line 18: 0 to 1",
    "CronledgerReconcileStale: line 18: ' > ' to ' >= '",
    "CronledgerReconcileStale: line 16: 'max without' to 'min without'",
}


def groups_of(file: Path) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load((ROOT / file).read_text())["groups"]
    return groups


def all_mutants() -> list[tuple[Path, Mutant]]:
    return [
        (file, mutant)
        for file in FILES
        for group in groups_of(file)
        for rule in group["rules"]
        for mutant in mutants_of(rule)
    ]


MUTANTS = all_mutants()
ALL = [(file, mutant) for file, mutant in MUTANTS if str(mutant) not in HARMLESS]


def cases() -> list[Any]:
    return [
        pytest.param(
            file, mutant, id=str(mutant), marks=() if index % SAMPLED == 0 else pytest.mark.slow
        )
        for index, (file, mutant) in enumerate(ALL)
    ]


def test_every_rule_has_mutants_and_each_stands_once() -> None:
    rules = {
        name_of(rule) for file in FILES for group in groups_of(file) for rule in group["rules"]
    }
    assert {mutant.rule for _, mutant in ALL} == rules
    names = [str(mutant) for _, mutant in MUTANTS]
    assert len(set(names)) == len(names)
    assert set(names) >= HARMLESS


@pytest.mark.parametrize(("file", "mutant"), cases())
def test_promtool_kills_the_mutant(
    file: Path, mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if MEMORY.is_dir():
        monkeypatch.setenv("TMPDIR", str(MEMORY))
    for folder in ("rules", "alerts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    groups = groups_of(file)
    for group in groups:
        group["rules"] = [
            mutant.broken if name_of(rule) == mutant.rule else rule for rule in group["rules"]
        ]
    (tmp_path / file).write_text(yaml.safe_dump({"groups": groups}))
    checked = subprocess.run(
        [promtool(), "check", "rules", tmp_path / file], capture_output=True, text=True, check=False
    )
    if checked.returncode != 0:
        return  # nobody could load it
    assert any(fails(test) for test in likeliest_first(tmp_path, mutant.rule))


def likeliest_first(root: Path, rule: str) -> list[Path]:
    tests = sorted((root / "alerts" / "tests").glob("*.yaml"))
    return sorted(tests, key=lambda test: rule not in test.read_text())


def fails(test: Path) -> bool:
    done = subprocess.run(
        [promtool(), "test", "rules", test], capture_output=True, text=True, check=False
    )
    # 1 is what a failed test exits with; anything else would be promtool's own fault.
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 1 and "FAILED" in done.stdout + done.stderr
