"""A real Prometheus with our rules, in which every length of time is divided by one number."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from commands import until

ROOT = Path(__file__).parents[1]
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SPAN = re.compile(r"(?<=\[)(\d+)([smhd])(?=\])|(?<=offset )(\d+)([smhd])")
# In an expression a number is a time if it is at least half a minute: 900, 3 * 86400, never 15.
NUMBER = re.compile(r"(?<![\w.:\"\[{])\d{2,}(?![\w.\]\"])")
TIME_FROM = 30


def scaled(rules: Mapping[str, Any], by: int) -> dict[str, Any]:
    """The groups of a file of rules or alerts, in which time goes `by` times as fast."""
    return {"groups": [_group(group, by) for group in rules["groups"]]}


def _group(group: Mapping[str, Any], by: int) -> dict[str, Any]:
    rules = [_rule(rule, by) for rule in group["rules"]]
    return {**group, "interval": _span(group["interval"], by), "rules": rules}


def _rule(rule: Mapping[str, Any], by: int) -> dict[str, Any]:
    spans = {k: _span(rule[k], by) for k in ("for", "keep_firing_for") if k in rule}
    return {**rule, "expr": expression(rule["expr"], by), **spans}


def expression(expr: str, by: int) -> str:
    """An expression, likewise."""
    expr = SPAN.sub(lambda found: _span(found.group(), by), expr)
    return NUMBER.sub(
        lambda found: (
            f"{int(found.group()) / by:g}" if int(found.group()) >= TIME_FROM else found.group()
        ),
        expr,
    )


def _span(text: str, by: int) -> str:
    seconds = int(text[:-1]) * SECONDS[text[-1]]
    return f"{max(seconds * 1000 // by, 1)}ms"


class Prometheus:
    """What one answers. Times are seconds since 1970."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        return self._ask("query", query=expr)

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        found = self.query('ALERTS{alertstate="firing"}')
        return {series["metric"]["alertname"] for series in found}

    def pending(self) -> set[str]:
        """The names of the alerts that will fire if nothing changes."""
        found = self.query('ALERTS{alertstate="pending"}')
        return {series["metric"]["alertname"] for series in found}

    def fired_ever(self, since: float) -> set[str]:
        """The names of the alerts that have fired since then."""
        span = max(1, round(self.now() - since))
        found = self.query(f'count_over_time(ALERTS{{alertstate="firing"}}[{span}s])')
        return {series["metric"]["alertname"] for series in found}

    def fired(self, alert: str, since: float, until: float) -> list[bool]:
        """Whether it fired, second by second."""
        ranges = self._ask(
            "query_range",
            query=f'max(ALERTS{{alertstate="firing",alertname="{alert}"}}) or vector(0)',
            start=str(since), end=str(until), step="1",
        )  # fmt: skip
        values = [value for series in ranges for value in series["values"]]
        return [float(value) == 1 for _, value in sorted(values)]

    def now(self) -> float:
        """Its own clock."""
        answer = self._client.get("/api/v1/query", params={"query": "time()"})
        return float(answer.json()["data"]["result"][1])

    def _ask(self, what: str, **parameters: str) -> list[dict[str, Any]]:
        answer = self._client.get(f"/api/v1/{what}", params=parameters).json()
        assert answer["status"] == "success", answer
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result


@contextmanager
def prometheus(folder: Path, targets: Sequence[str], by: int) -> Iterator[Prometheus]:
    """One that scrapes `targets` as the job `cronledger` and evaluates our rules."""
    program = shutil.which("prometheus")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("prometheus is not installed; apt-get install prometheus")
        pytest.skip("prometheus is not installed; apt-get install prometheus to run this test")
    for name in ("rules", "alerts"):
        rules = yaml.safe_load((ROOT / name / "cronledger.yaml").read_text("utf-8"))
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(scaled(rules, by)), encoding="utf-8")
    scrape = {"job_name": "cronledger", "static_configs": [{"targets": list(targets)}]}
    config = {
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
        "rule_files": ["rules.yaml", "alerts.yaml"],
        "scrape_configs": [scrape],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [program, f"--config.file={folder / 'prometheus.yml'}",
             f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
            until(lambda: _ready(client), "Prometheus is ready")
            yield Prometheus(client)
    finally:
        process.kill()
        process.wait()


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/-/ready").status_code == 200
    except httpx.TransportError:
        return False
