"""The endpoint of a sidecar as others meet it: a real Prometheus, over TLS, with a password."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from certificates import Authority, basic, hash_of
from commands import environment, process, until
from ledgers import file_text
from scraper import scraping
from sidecars import Running

WEB = """
tls_server_config: {{cert_file: server.pem, key_file: server.key}}
basic_auth_users: {{prometheus: {hashed}}}
"""
OK = 'cronledger_web_config_reloads_total{outcome="ok"}'
ERROR = 'cronledger_web_config_reloads_total{outcome="error"}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schedules.yaml"
    path.write_text(file_text("t: cron: '0 0 1 1 *'"), encoding="utf-8")
    return path


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def web(tmp_path: Path, ca: Authority) -> Path:
    """TLS and one user."""
    ca.issue("server")
    path = tmp_path / "web.yml"
    path.write_text(WEB.format(hashed=hash_of("wonderland", 10)))
    return path


@pytest.fixture
def run(file: Path, database: str) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*options: str, trusting: ssl.SSLContext | bool = True) -> Running:
        started.append(Running(file, database, *options, trusting=trusting))
        return started[-1].serves()

    yield start
    for running in started:
        running.end(signal.SIGKILL)


def test_prometheus_scrapes_over_tls_with_a_password_while_both_are_replaced(
    run: Callable[..., Running], web: Path, ca: Authority, tmp_path: Path
) -> None:
    sidecar = run("--web-config", str(web), trusting=ca.trusting())
    assert sidecar.address.startswith("https://")
    password = tmp_path / "password"
    password.write_text("wonderland")
    job = {
        "job_name": "cronledger",
        "scheme": "https",
        "basic_auth": {"username": "prometheus", "password_file": str(password)},
        "tls_config": {"ca_file": str(ca.file)},
        "static_configs": [{"targets": [sidecar.address.removeprefix("https://")]}],
    }
    with scraping(tmp_path, job) as prometheus:
        until(lambda: prometheus.values('up{job="cronledger"}') == [1], "it is up")
        until(lambda: prometheus.values("cronledger_database_up") == [1], "it says something")
        (tmp_path / "server.pem").write_text("torn")
        sidecar.hears("web_config_reload_failed.*server.key.*belong together")
        ca.issue("server")
        sidecar.hears("web_config_reloaded")
        until(lambda: prometheus.values(OK) == [1], "the reload is scraped")
        assert prometheus.values(ERROR)[0] >= 1
        assert prometheus.values('min_over_time(up{job="cronledger"}[1m])') == [1]
        web.write_text(WEB.format(hashed=hash_of("looking-glass", 10)))
        until(lambda: prometheus.values('up{job="cronledger"}') == [0], "the password is refused")
        assert "401" in prometheus.errors()[0]
        password.write_text("looking-glass")
        until(lambda: prometheus.values('up{job="cronledger"}') == [1], "the new one is not")
    assert sidecar.get("/-/healthy").status_code == 200
    assert sidecar.end() == 0


def test_a_broken_web_config_leaves_the_old_one_in_force(
    run: Callable[..., Running], web: Path, ca: Authority
) -> None:
    sidecar = run("--web-config", str(web), trusting=ca.trusting())
    web.write_text("basic_auth_users: {prometheus: plain-secret}")
    sidecar.send(signal.SIGHUP)
    told = json.loads(sidecar.hears("web_config_reload_failed").string)
    assert told["level"] == "error"
    assert "web.yml:1:20: basic_auth_users: 'prometheus': no bcrypt hash" in told["problems"][0]
    header = basic("prometheus", "wonderland")
    until(lambda: sidecar.metric(ERROR, **header) == 1, "it is counted")
    assert sidecar.metric(OK, **header) == 0
    assert sidecar.get("/metrics").status_code == 401
    assert "plain-secret" not in "".join(sidecar.said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("basic_auth_users: {prometheus: secret}", "web.yml:1:20: basic_auth_users"),
        ("tls_server_config: {cert_file: a.pem, key_file: b}", "a.pem: cannot be read: No such"),
        ("rate_limit: {}", "web.yml:1:1: unknown key 'rate_limit'"),
        (None, "web.yml: there is no such file; name the web config"),
    ],
)
def test_at_the_start_a_broken_one_is_one_message_and_exit_2(
    file: Path, database: str, tmp_path: Path, text: str | None, said: str
) -> None:
    web = tmp_path / "web.yml"
    if text is not None:
        web.write_text(text)
    done = process("run", file, "--web-config", web, "--database", database)
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert said in done.err


def test_users_without_bcrypt_are_told_what_to_install(
    file: Path, database: str, web: Path, tmp_path: Path
) -> None:
    (tmp_path / "bcrypt.py").write_text("raise ImportError('not installed')")
    done = process(
        "run", file, "--web-config", web, "--database", database, PYTHONPATH=str(tmp_path)
    )
    assert done.code == 2
    assert "basic_auth_users needs bcrypt; install cronledger[web]" in done.err


@pytest.mark.parametrize(
    ("web_text", "said"),
    [
        ("", "whoever reaches 0.0.0.0 can read the metrics"),
        ("basic_auth_users: {a: HASH}", "passwords cross the network to 0.0.0.0 in clear text"),
        ("basic_auth_users: {a: HASH}\ntls_server_config: TLS", ""),
    ],
)
def test_an_address_of_others_is_warned_of_once_if_it_is_open(
    run: Callable[..., Running], ca: Authority, tmp_path: Path, web_text: str, said: str
) -> None:
    cert, key = ca.issue("server")
    web = tmp_path / "web.yml"
    tls = f"{{cert_file: {cert}, key_file: {key}}}"
    web.write_text(web_text.replace("HASH", hash_of("x")).replace("TLS", tls))
    sidecar = run("--web-config", str(web), "--listen", "0.0.0.0:0")
    if said:
        sidecar.hears(said)
    assert sidecar.end() == 0
    assert sum("web-config" in line for line in sidecar.said) == bool(said)


def test_help_names_the_variable_and_no_bcrypt_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "cronledger", "run", "--help"],
        capture_output=True, text=True, check=True, timeout=60, env=environment(),
    )  # fmt: skip
    assert "CRONLEDGER_PING_URL" in done.stdout
    assert "bcrypt" not in done.stderr
