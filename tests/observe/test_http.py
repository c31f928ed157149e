"""The HTTP endpoint, asked over real sockets."""

from __future__ import annotations

import gzip
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from sample_facts import FULL

from cronledger.adapters.observe.metrics import Renderer
from cronledger.core.exposition import CONTENT_TYPES, Exposition, Form
from cronledger.errors import RefusedError
from cronledger.http import Answers, Server

EXPOSITION = Renderer().render(FULL)
FINE = Answers(lambda: EXPOSITION, tuple, tuple, version="0.1.0")


@pytest.fixture
def url() -> Iterator[str]:
    yield from serving(FINE)


def serving(answers: Answers) -> Iterator[str]:
    server = Server(answers)
    yield f"http://127.0.0.1:{server.start()}"
    server.stop()


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_metrics_are_the_bytes_of_the_last_snapshot(url: str) -> None:
    answer = httpx.get(f"{url}/metrics", headers={"accept-encoding": "identity"})
    assert answer.status_code == 200
    assert answer.content == EXPOSITION.body(Form.TEXT)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "content-encoding" not in answer.headers


def test_metrics_are_gzipped_for_those_who_accept_it(url: str) -> None:
    with httpx.stream("GET", f"{url}/metrics", headers={"accept-encoding": "gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == EXPOSITION.body(Form.TEXT)


@pytest.mark.parametrize("refusal", ["gzip;q=0", "br, gzip; q=0.0", "deflate", "gzip;q=x"])
def test_metrics_are_plain_for_those_who_do_not(url: str, refusal: str) -> None:
    answer = httpx.get(f"{url}/metrics", headers={"accept-encoding": refusal})
    assert "content-encoding" not in answer.headers
    assert answer.content == EXPOSITION.body(Form.TEXT)


PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (PROMETHEUS, Form.OPENMETRICS),
        ("application/openmetrics-text", Form.OPENMETRICS),
        ("application/openmetrics-text;q=0.2, text/plain", Form.TEXT),
        ("application/openmetrics-text;q=0", Form.TEXT),
        ("text/html", Form.TEXT),
        ("*/*", Form.TEXT),
    ],
)
def test_the_format_is_the_one_that_the_scraper_prefers(
    url: str, accept: str, expected: Form
) -> None:
    answer = httpx.get(f"{url}/metrics", headers={"accept": accept})
    assert answer.content == EXPOSITION.body(expected)
    assert answer.headers["content-type"] == CONTENT_TYPES[expected]
    assert answer.headers["vary"] == "Accept, Accept-Encoding"


def test_a_scrape_asks_for_nothing_but_the_bytes() -> None:
    asked: list[str] = []

    def exposition() -> Exposition:
        asked.append("exposition")
        return EXPOSITION

    def verdict() -> tuple[str, ...]:
        asked.append("verdict")
        return ()

    for url in serving(Answers(exposition, verdict, verdict)):
        for _ in range(3):
            httpx.get(f"{url}/metrics")
    assert asked == ["exposition"] * 3


def test_the_next_scrape_serves_the_next_snapshot() -> None:
    later = Renderer().render(replace(FULL, drift=()))
    snapshots = [EXPOSITION, later]
    for url in serving(replace(FINE, exposition=lambda: snapshots[-1])):
        assert httpx.get(f"{url}/metrics").content == later.body(Form.TEXT)
        snapshots.append(EXPOSITION)
        assert httpx.get(f"{url}/metrics").content == EXPOSITION.body(Form.TEXT)


def test_a_healthy_process_says_so(url: str) -> None:
    answer = httpx.get(f"{url}/-/healthy")
    assert (answer.status_code, answer.text) == (200, "healthy\n")


def test_an_unhealthy_process_names_its_reasons() -> None:
    reasons = ["tick has been silent for 400 s", "reconcile has been silent for 900 s"]
    for url in serving(replace(FINE, healthy=lambda: reasons)):
        answer = httpx.get(f"{url}/-/healthy")
        assert (answer.status_code, answer.text.splitlines()) == (503, reasons)
        assert httpx.get(f"{url}/-/ready").status_code == 200


def test_a_ready_process_says_so(url: str) -> None:
    answer = httpx.get(f"{url}/-/ready")
    assert answer.status_code == 200
    assert answer.json() == {"schema_version": 1, "ready": True, "reasons": []}


def test_a_process_that_is_not_ready_names_its_reasons_and_stays_healthy() -> None:
    for url in serving(replace(FINE, ready=lambda: ["the database has not answered for 40 s"])):
        answer = httpx.get(f"{url}/-/ready")
        assert answer.status_code == 503
        assert answer.json() == {
            "schema_version": 1,
            "ready": False,
            "reasons": ["the database has not answered for 40 s"],
        }
        assert httpx.get(f"{url}/-/healthy").status_code == 200


def test_a_verdict_that_breaks_is_an_error_and_the_server_goes_on() -> None:
    def broken() -> tuple[str, ...]:
        raise ValueError("boom")

    for url in serving(replace(FINE, ready=broken)):
        assert httpx.get(f"{url}/-/ready").status_code == 500
        assert httpx.get(f"{url}/metrics").status_code == 200


def test_the_landing_page_links_the_others(url: str) -> None:
    page = httpx.get(url)
    assert page.headers["content-type"].startswith("text/html")
    assert "cronledger 0.1.0" in page.text
    for path in ("/metrics", "/-/healthy", "/-/ready"):
        assert f'href="{path}"' in page.text
        assert httpx.get(url + path).status_code == 200


def test_only_reading_is_allowed(url: str) -> None:
    assert httpx.post(f"{url}/metrics").status_code == 405
    assert httpx.get(f"{url}/nothing").status_code == 404
    head = httpx.head(f"{url}/metrics")
    assert (head.status_code, head.content) == (200, b"")


def test_many_starts_and_stops_leave_no_thread_and_no_socket_behind() -> None:
    before = (threads(), open_files())
    for _ in range(5):
        for url in serving(FINE):
            assert httpx.get(f"{url}/-/healthy").status_code == 200
    assert (threads(), open_files()) == before


def test_a_client_that_keeps_its_connection_does_not_hold_up_the_stop() -> None:
    with httpx.Client() as client:
        for url in serving(FINE):
            assert client.get(f"{url}/metrics").status_code == 200
    assert "cronledger-http" not in threads()


def test_the_port_is_free_again_after_a_stop() -> None:
    first = Server(FINE)
    port = first.start()
    first.stop()
    second = Server(FINE, port=port)
    assert second.start() == port
    second.stop()


def test_stopping_twice_or_before_the_start_is_fine() -> None:
    server = Server(FINE)
    server.stop()
    server.start()
    server.stop()
    server.stop()


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(RefusedError, match=f"127.0.0.1:{port}.*give another"):
            Server(FINE, port=port).start()


def test_a_host_that_does_not_exist_is_refused_with_what_to_do() -> None:
    with pytest.raises(RefusedError, match=r"no\.such\.host\.invalid:0.*give another"):
        Server(FINE, host="no.such.host.invalid").start()


def test_only_loopback_is_bound_unless_asked(url: str) -> None:
    port = int(url.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.2", port)):
        assert httpx.get(f"{url}/-/healthy").status_code == 200


def test_the_signal_handlers_stay_those_of_the_program(url: str) -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    for url in serving(FINE):
        httpx.get(f"{url}/metrics")
    assert tuple(capfd.readouterr()) == ("", "")
