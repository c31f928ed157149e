"""A real Prometheus that scrapes what a test serves."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from commands import until


def program() -> str:
    """Its path. Without it: a failure in CI, a skipped test elsewhere."""
    found = shutil.which("prometheus")
    if found is None:
        ask = pytest.fail if os.environ.get("CI") else pytest.skip
        ask("prometheus is not installed; apt-get install prometheus")
    return found


@dataclass(frozen=True)
class Prometheus:
    """What it knows, by its own API."""

    url: str

    def values(self, query: str) -> list[float]:
        """The values of an instant query."""
        answer = httpx.get(f"{self.url}/api/v1/query", params={"query": query}, timeout=10)
        return [float(series["value"][1]) for series in answer.json()["data"]["result"]]

    def errors(self) -> list[str]:
        """What the last scrapes failed by; an empty text is a good one."""
        answer = httpx.get(f"{self.url}/api/v1/targets", timeout=10)
        return [target["lastError"] for target in answer.json()["data"]["activeTargets"]]


@contextmanager
def scraping(folder: Path, job: Mapping[str, Any]) -> Iterator[Prometheus]:
    """One that scrapes the job every second meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "prometheus.yml"
    config.write_text(
        json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": [dict(job)]})
    )
    with (folder / "prometheus.log").open("w") as log:
        running = subprocess.Popen(
            [program(), f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    found = Prometheus(f"http://127.0.0.1:{port}")
    try:
        until(lambda: _is_ready(found), "Prometheus is ready")
        yield found
    finally:
        running.kill()
        running.wait(20)


def _is_ready(found: Prometheus) -> bool:
    try:
        return httpx.get(f"{found.url}/-/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
