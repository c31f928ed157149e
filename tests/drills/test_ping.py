"""The dead man's switch against a real receiver: it hears of good passes, and breaks none."""

from __future__ import annotations

import functools
import json
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg
import pytest

from certificates import Authority
from commands import process, until
from cronledger.adapters.clock import SystemClock
from cronledger.adapters.ping import sender
from cronledger.core.events import Event, PingFailed, PingSent
from cronledger.daemon import ping
from cronledger.errors import ConfigError
from ledgers import file_text
from sidecars import Running

SECRET = "5a1c-canary"
OK = 'cronledger_pings_total{outcome="ok"}'
ERROR = 'cronledger_pings_total{outcome="error"}'


class Receiver:
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status, self.location = 200, ""
        self.asked: list[tuple[str, str, str]] = []
        self.release = threading.Event()
        self.release.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                agent = self.headers["User-Agent"]
                receiver.asked.append((self.command, self.path, agent))
                receiver.release.wait(30)
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # its name
                """The test says what went wrong."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/ping/{SECRET}"

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schedules.yaml"
    path.write_text(file_text("t: cron: '0 0 1 1 *'"), encoding="utf-8")
    return path


@pytest.fixture
def run(file: Path, database: str, receiver: Receiver) -> Iterator[Callable[[], Running]]:
    started: list[Running] = []

    def start() -> Running:
        started.append(Running(file, database, CRONLEDGER_PING_URL=receiver.url))
        return started[-1].serves()

    yield start
    for running in started:
        running.end(signal.SIGKILL)


def test_each_good_pass_is_heard_outside_and_the_address_is_not_told(
    run: Callable[[], Running], receiver: Receiver
) -> None:
    sidecar = run()
    until(lambda: len(receiver.asked) >= 3, "three pings")
    method, path, agent = receiver.asked[0]
    assert (method, path) == ("GET", f"/ping/{SECRET}")
    assert agent.startswith("cronledger/")
    until(lambda: (sidecar.metric(OK) or 0) >= 2, "they are counted")
    assert sidecar.metric(ERROR) == 0
    assert SECRET not in sidecar.get("/metrics").text + sidecar.get("/").text
    assert sidecar.end() == 0
    assert SECRET not in "".join(sidecar.said)
    assert not any("ping_" in line for line in sidecar.said)


def test_failures_are_counted_each_told_once_and_their_end_too(
    run: Callable[[], Running], receiver: Receiver
) -> None:
    receiver.status = 500
    sidecar = run()
    until(lambda: (sidecar.metric(ERROR) or 0) >= 3, "they are counted")
    runs = sidecar.metric('cronledger_reconcile_runs_total{outcome="ok"}')
    assert runs is not None
    assert runs >= 3
    told = [json.loads(line) for line in sidecar.said if "ping_failed" in line]
    assert [(line["reason"], line["failures"]) for line in told] == [
        ("the answer was status 500", 1)
    ]
    receiver.status = 200
    sent = json.loads(sidecar.hears("ping_sent").string)
    assert sent["failures_before"] >= 3
    assert sidecar.end() == 0
    assert SECRET not in "".join(sidecar.said)


def test_a_receiver_that_hangs_holds_up_nothing(
    run: Callable[[], Running], receiver: Receiver
) -> None:
    receiver.release.clear()
    sidecar = run()
    until(lambda: receiver.asked, "it was asked")
    runs = 'cronledger_reconcile_runs_total{outcome="ok"}'
    before = sidecar.metric(runs) or 0
    until(lambda: (sidecar.metric(runs) or 0) >= before + 3, "passes go on")
    assert len(receiver.asked) == 1
    assert sidecar.get("/-/healthy").status_code == 200
    assert sidecar.end() == 0


def test_no_ping_is_sent_while_ticks_fail(
    run: Callable[[], Running], receiver: Receiver, database: str
) -> None:
    sidecar = run()
    until(lambda: receiver.asked, "it is heard")
    with psycopg.connect(database, autocommit=True) as admin:
        # Only what a tick does alone: reconciles still pass.
        admin.execute("alter function cronledger.enqueue_occurrences rename to gone")
    file = Path(sidecar.file)
    file.write_text(file_text("s: cron: {expr: '* * * * * *', fields: 6s}"), encoding="utf-8")
    sidecar.send(signal.SIGHUP)
    sidecar.hears('loop_failed.*"tick"')
    runs = 'cronledger_reconcile_runs_total{outcome="ok"}'
    before, heard = sidecar.metric(runs) or 0, len(receiver.asked)
    until(lambda: (sidecar.metric(runs) or 0) >= before + 4, "reconciles pass")
    assert len(receiver.asked) <= heard + 1  # one may have been on its way
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("alter function cronledger.gone rename to enqueue_occurrences")
    until(lambda: len(receiver.asked) >= heard + 2, "it is heard again", 60)


def test_an_address_that_is_none_is_refused_unseen(file: Path, database: str) -> None:
    for options, changes in (
        (["--ping-url", f"ftp://example.org/{SECRET}"], {}),
        ([], {"CRONLEDGER_PING_URL": SECRET}),
    ):
        done = process("run", file, "--database", database, *options, **changes)
        assert done.code == 2
        assert "write https://HOST/PATH" in done.err
        assert SECRET not in done.err


@pytest.mark.parametrize(
    "url",
    [
        f"https://{SECRET}:x/", f"https:///{SECRET}", f"https://[{SECRET}/", f"//h/{SECRET}",
        f"https://u:{SECRET}@example.org/", f"https://h/{SECRET}\n", f"https://h/{SECRET} x",
        f"file:///{SECRET}", f"https://h/ä{SECRET}",
    ],
)  # fmt: skip
def test_no_message_shows_an_address(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sender(url, "1")
    assert "canary" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, ""),
        (204, ""),
        (404, "the answer was status 404"),
        (503, "the answer was status 503"),
        (302, "the answer was status 302; give the address that it leads to"),
    ],
)
def test_only_a_success_is_one(receiver: Receiver, status: int, said: str) -> None:
    receiver.status = status
    receiver.location = "/elsewhere" if status == 302 else ""
    assert sender(receiver.url, "1")() == said
    assert len(receiver.asked) == 1


def test_what_keeps_a_ping_from_arriving_is_said_without_the_address(tmp_path: Path) -> None:
    closed = Receiver()
    closed.close()
    assert sender(closed.url, "1")() == "Connection refused"
    stranger = Receiver()
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*Authority(tmp_path).issue("server"))
        listening = stranger.server.socket
        stranger.server.socket = context.wrap_socket(listening, server_side=True)
        said = sender(stranger.url.replace("http:", "https:"), "1")()
        assert "certificate verify failed" in said
        assert SECRET not in said
        assert stranger.asked == []
    finally:
        stranger.close()


class Told:
    """Events by where they went."""

    def __init__(self) -> None:
        self.counted: list[Event] = []
        self.told: list[Event] = []

    def more_than(self, count: int) -> bool:
        return len(self.told) > count


def pinger(send: Callable[[], str], told: Told) -> ping.Pinger:
    made = ping.Pinger(send, SystemClock(), told.counted.append, told.told.append)
    made.start()
    return made


def test_a_ping_has_an_end_and_no_second_begins_beside_it(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ping, "PING_SECONDS_MAX", 0.2)
    receiver.release.clear()
    told = Told()
    made = pinger(sender(receiver.url, "1"), told)
    made.ping()
    until(lambda: told.counted == [PingFailed("no answer within 0.2 s", 1)], "it is given up")
    made.ping()
    until(lambda: len(told.counted) == 2, "the next is not begun")
    assert told.counted[1] == PingFailed("an earlier ping is still under way", 2)
    assert len(receiver.asked) == 1
    receiver.release.set()

    def arrived() -> bool:
        made.ping()
        return isinstance(told.counted[-1], PingSent)

    until(arrived, "pings arrive again")
    made.stop()
    assert isinstance(told.told[0], PingFailed)
    assert isinstance(told.told[-1], PingSent)


def test_the_same_trouble_is_told_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping, "TELL_AGAIN", timedelta(0))
    told = Told()
    made = pinger(lambda: "the answer was status 500", told)
    for _ in range(3):
        before = len(told.told)
        made.ping()
        until(functools.partial(told.more_than, before), "it is told")
    made.stop()
    assert told.told == [PingFailed("the answer was status 500", n) for n in (1, 2, 3)]
    assert told.told == told.counted
