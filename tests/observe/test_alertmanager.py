"""The configuration for Alertmanager, which itself says who is told and what stays silent."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from debian import program

from commands import until
from cronledger.adapters.observe.alertmanager import alertmanager
from cronledger.cli.app import run

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "deploy" / "alertmanager.yaml"
PACKAGE = "prometheus-alertmanager"
ALERTS = {
    rule["alert"]
    for group in yaml.safe_load((ROOT / "alerts/cronledger.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
}


def amtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    asked = [program("amtool", PACKAGE), *map(str, arguments)]
    return subprocess.run(asked, capture_output=True, text=True, check=False)


def test_the_file_is_what_the_command_writes() -> None:
    asked = ["export", "alertmanager", "--team", "billing", "--check", str(COMMITTED)]
    assert run(asked) == 0, (
        "cronledger export alertmanager --team billing -o deploy/alertmanager.yaml"
    )


@pytest.mark.parametrize("teams", [(), ("billing",), ("a.b-c_d", "billing")])
def test_alertmanager_takes_it(tmp_path: Path, teams: tuple[str, ...]) -> None:
    file = tmp_path / "alertmanager.yml"
    file.write_text(alertmanager(teams), encoding="utf-8")
    checked = amtool("check-config", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{4 + 3 * len(teams)} receivers" in checked.stdout


def test_alertmanager_takes_its_parts_within_another_file(tmp_path: Path) -> None:
    ours = yaml.safe_load(alertmanager(("billing",)))
    whole = {
        "global": {"resolve_timeout": "5m"},
        "route": {
            "receiver": "theirs",
            "routes": [*ours["route"]["routes"], {"receiver": "theirs"}],
        },
        "inhibit_rules": ours["inhibit_rules"],
        "receivers": [
            {"name": "theirs", "webhook_configs": [{"url": "http://127.0.0.1:9/"}]},
            *ours["receivers"],
        ],
    }
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    checked = amtool("check-config", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert told(file, "alertname=Other", "severity=critical") == "theirs"
    assert told(file, "alertname=CronledgerDown", "severity=critical") == "cronledger-critical"


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ("alertname=CronledgerDown severity=critical", "cronledger-critical"),
        ("alertname=CronledgerClockSkew severity=warning", "cronledger-warning"),
        ("alertname=CronledgerMetricsTruncated severity=info", "cronledger-info"),
        ("alertname=CronledgerClockSkew severity=unheard-of", "cronledger-warning"),
        (
            "alertname=CronledgerOccurrenceMissing severity=critical team=billing",
            "cronledger-billing-critical",
        ),
        ("alertname=CronledgerOccurrenceMissing team=billing", "cronledger-billing-warning"),
        (
            "alertname=CronledgerOccurrenceMissing severity=critical team=nobody",
            "cronledger-critical",
        ),
        ("alertname=SomethingElse severity=critical team=billing", "default"),
    ],
)
def test_who_is_told(labels: str, receiver: str) -> None:
    assert told(COMMITTED, *labels.split()) == receiver


def told(file: Path, *labels: str) -> str:
    answer = amtool("config", "routes", "test", f"--config.file={file}", *labels)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_each_alert_that_it_names_is_there() -> None:
    for rule in yaml.safe_load(alertmanager())["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            pattern = matcher.partition('"')[2].rstrip('"')
            assert any(re.fullmatch(pattern, alert) for alert in ALERTS), matcher
    named = re.compile(r"Cronledger\(([\w|]+)\)")
    for found in named.findall(alertmanager()):
        assert {f"Cronledger{name}" for name in found.split("|")} <= ALERTS


@pytest.fixture
def running(tmp_path: Path) -> Iterator[str]:
    """The address of an Alertmanager with the committed file."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    asked = [
        program("prometheus-alertmanager", PACKAGE), f"--config.file={COMMITTED}",
        f"--storage.path={tmp_path / 'data'}", f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]  # fmt: skip
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(asked, stdout=log, stderr=log)
    try:
        until(lambda: ready(f"http://{address}"), "Alertmanager is ready")
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait(20)


def ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/-/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def alert(name: str, **labels: str) -> dict[str, Any]:
    return {"labels": {"alertname": f"Cronledger{name}", "job": "cronledger", **labels}}


def test_what_another_alert_explains_stays_silent_and_nothing_else(running: str) -> None:
    silent = [
        alert("LeaderCount", severity="warning"),
        alert("QueueOldestEligibleTooOld", queue="mail", severity="critical"),
    ]
    loud = [
        alert("DatabaseUnreachable", severity="critical"),
        alert("QueueStalled", queue="mail", severity="critical"),
        alert("QueueOldestEligibleTooOld", queue="other", severity="critical"),
        alert("OccurrenceMissing", schedule="nightly", severity="critical"),
        alert("LeaderCount", severity="warning", cluster="elsewhere"),
    ]
    httpx.post(f"{running}/api/v2/alerts", json=[*silent, *loud], timeout=5).raise_for_status()
    until(lambda: states(running) == expected(loud, silent), "what is explained stays silent")
    down = alert("Down", severity="critical")
    httpx.post(f"{running}/api/v2/alerts", json=[down], timeout=5).raise_for_status()
    elsewhere = [loud.pop(), down]
    until(
        lambda: states(running) == expected(elsewhere, [*silent, *loud]),
        "only what is down, and what is elsewhere, is told",
    )


def states(address: str) -> set[tuple[str, str]]:
    """Each alert's labels, and whether somebody is told."""
    found = httpx.get(f"{address}/api/v2/alerts", timeout=5).json()
    return {(spelled(a["labels"]), a["status"]["state"]) for a in found}


def expected(loud: list[dict[str, Any]], silent: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {
        *((spelled(a["labels"]), "active") for a in loud),
        *((spelled(a["labels"]), "suppressed") for a in silent),
    }


def spelled(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def test_a_team_that_no_file_could_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "alertmanager", "--team", 'a"b']) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert """'a"b' is no team""" in said.err
