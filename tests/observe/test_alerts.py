"""The rules and alerts, judged by promtool; and promtool's tests, judged by broken rules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from promtool import promtool

ROOT = Path(__file__).parents[2]
MEMORY = Path("/dev/shm")
RULES = ROOT / "rules" / "cronledger.yaml"
ALERTS = ROOT / "alerts" / "cronledger.yaml"

# What somebody might do to the rules one day: (file, what stands there, what they make of it).
MUTATIONS = {
    "the freshness guard is dropped": (RULES, "_timestamp_seconds < 900", "_timestamp_seconds > 0"),
    "the guard is laxer": (RULES, "< 900", "< 9000"),
    "replicas are summed": (RULES, "max without (instance", "sum without (instance"),
    "replicas are kept apart": (RULES, "(instance, pod", "(pod"),
    "negative ages are let through": (RULES, "clamp_min(", "clamp_max("),
    "one threshold serves all": (
        ALERTS,
        "> schedule:cronledger_delivery_objective_seconds:max",
        "> 3600",
    ),
    "a queue's threshold is fixed": (
        ALERTS,
        "> queue:cronledger_delivery_objective_seconds:max",
        "> 3600",
    ),
    "the pause no longer silences": (ALERTS, "unless queue:cronledger_claims_paused:max == 1", ""),
    "depth alerts": (
        ALERTS,
        "unless queue:cronledger_claims_paused:max == 1",
        "or sum without (state) (queue_state:cronledger_queue_jobs:max) > 1000",
    ),
    "one failing target is down": (
        ALERTS,
        'absent(up{job="cronledger"} == 1)',
        'up{job="cronledger"} == 0',
    ),
    "any replica speaks for the database": (
        ALERTS,
        "max without (instance, pod, container, endpoint) (cronledger_database_up)",
        "min without (instance, pod, container, endpoint) (cronledger_database_up)",
    ),
    "a stale reconcile has a fixed limit": (ALERTS, "> 3 * max", "> 0 * max"),
    "a reconcile that never was is fresh": (ALERTS, "            != max", "            == max"),
    "a new sidecar gets no time": (ALERTS, " offset 15m", ""),
    "missing needs more than one": (
        ALERTS,
        "missing_occurrences:max > 0",
        "missing_occurrences:max > 1",
    ),
    "dead counts every outcome": (RULES, '{outcome="dead"}', ""),
    "the dead that stand alert for ever": (
        ALERTS,
        "queue:cronledger_dead:increase1h >= 1",
        "queue:cronledger_oldest_dead_letter_age_seconds:max > 0",
    ),
    "one dead job is too few": (ALERTS, "increase1h >= 1", "increase1h >= 2"),
    "what the file chose to leave out alerts": (
        ALERTS,
        '{reason=~"outside_window|over_limit"}',
        "",
    ),
    "what was ever given up alerts": (
        ALERTS,
        'increase(cronledger_occurrences_abandoned_total{reason=~"outside_window|over_limit"}[1h])',
        "cronledger_occurrences_abandoned_total",
    ),
    "each reason for giving up alerts by itself": (
        ALERTS,
        "sum without (reason)",
        "sum without (queue)",
    ),
    "giving up is forgotten": (ALERTS, "        keep_firing_for: 1h\n", ""),
    "the luckiest replica speaks for the file": (
        ALERTS,
        "min without (instance, pod, container, endpoint) (\n            cronledger_config",
        "max without (instance, pod, container, endpoint) (\n            cronledger_config",
    ),
    "an unexpected record gets no time": (ALERTS, "for: 15m", "for: 1m"),
}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [promtool(), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def fault(root: Path) -> str:
    """What promtool says of the first test file that fails; "" if none does."""
    tests = (root / "alerts" / "tests").glob("*.yaml")
    # Hours of burn rates take as long as all the others together, so they come last.
    for file in sorted(tests, key=lambda file: (file.name == "deliveries.yaml", file.name)):
        done = run("test", "rules", file)
        if done.returncode != 0:
            return done.stdout + done.stderr
    return ""


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where promtool keeps the series of a test, or each of them waits for the disk."""
    if MEMORY.is_dir():
        monkeypatch.setenv("TMPDIR", str(MEMORY))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The rules and alerts, free to be broken."""
    for folder in ("rules", "alerts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_promtool_finds_no_fault_in_rules_and_alerts() -> None:
    done = run("check", "rules", "--lint=all", "--lint-fatal", RULES, ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_alerts_fire_stay_silent_and_resolve_as_promtool_is_told() -> None:
    assert fault(ROOT) == ""


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_promtool_notices_when(mutation: str, copy: Path) -> None:
    original, before, after = MUTATIONS[mutation]
    broken = copy / original.relative_to(ROOT)
    text = broken.read_text()
    assert before in text
    broken.write_text(text.replace(before, after))
    # Still well-formed, or it would be noticed for the wrong reason.
    assert run("check", "rules", broken).returncode == 0
    assert "FAILED" in fault(copy)


def test_every_alert_has_a_firing_and_a_silent_case() -> None:
    cases: dict[str, set[bool]] = {}
    for file in (ROOT / "alerts" / "tests").glob("*.yaml"):
        for test in yaml.safe_load(file.read_text())["tests"]:
            for case in test.get("alert_rule_test", ()):
                cases.setdefault(case["alertname"], set()).add(bool(case["exp_alerts"]))
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    assert cases == {alert: {True, False} for alert in alerts}
