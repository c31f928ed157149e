"""Who may read what of the endpoint, at what price, and what a bad client can do to it."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest
from endpoints import EXPOSITION, FINE, served

from certificates import basic, hash_of
from commands import until
from cronledger.adapters.passwords import check_password
from cronledger.core.exposition import Exposition, Form
from cronledger.core.web import Guard, Guards, WebSettings
from cronledger.http import connection
from cronledger.http.passwords import REMEMBERED_MAX, WAITING_MAX

USERS = {"alice": hash_of("wonderland"), "bob": hash_of("builder")}
CLOSED = WebSettings(users=USERS, guards=Guards(Guard.OPEN, Guard.USERS, Guard.USERS))
PATHS = ("/metrics", "/", "/nothing", "/metrics/", "/-/", "/-/healthy/", "//metrics")


class Counting:
    """The real check, counted: it is what costs."""

    def __init__(self) -> None:
        self.hashes: list[bytes] = []

    def __call__(self, password: bytes, hashed: bytes) -> bool:
        self.hashes.append(hashed)
        return check_password(password, hashed)


def test_a_password_opens_metrics_and_page_and_probes_need_none() -> None:
    with served(CLOSED) as (url, _):
        for path in PATHS:
            answer = httpx.get(url + path)
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"].startswith('Basic realm="cronledger"')
            assert "cronledger_" not in answer.text
        answer = httpx.get(f"{url}/metrics", headers=basic("alice", "wonderland"))
        assert answer.content == EXPOSITION.body(Form.TEXT)
        assert httpx.get(url, headers=basic("bob", "builder")).status_code == 200
        for path in ("/-/healthy", "/-/ready"):
            assert httpx.get(url + path).status_code == 200


@pytest.mark.parametrize("part", ["probes", "metrics", "page"])
def test_each_part_has_a_guard_of_its_own(part: str) -> None:
    paths = {"probes": "/-/ready", "metrics": "/metrics", "page": "/"}
    guards = replace(Guards(), **{part: Guard.USERS})
    with served(WebSettings(users=USERS, guards=guards)) as (url, _):
        answers = {name: httpx.get(url + path).status_code for name, path in paths.items()}
    assert answers == {name: 401 if name == part else 200 for name in paths}


@pytest.mark.parametrize(
    "header",
    [
        basic("alice", "builder"),
        basic("alice", ""),
        basic("", "wonderland"),
        basic("mallory", "wonderland"),
        basic("ALICE", "wonderland"),
        basic("alice", "wonderland\0"),
        basic("alice", "wonderland" + "x" * 90),
        {"authorization": "Basic"},
        {"authorization": "Basic !!!"},
        {"authorization": "Basic YWxpY2U="},
        {"authorization": "Basic /////w=="},
        {"authorization": "Bearer wonderland"},
        {"authorization": f"Basic {'A' * 9000}"},
    ],
)
def test_anything_else_does_not(header: dict[str, str]) -> None:
    with served(CLOSED) as (url, _):
        for _ in range(2):  # the second time from memory
            assert httpx.get(f"{url}/metrics", headers=header).status_code == 401


def test_the_seventy_third_byte_counts_although_bcrypt_does_not_see_it() -> None:
    long = "x" * 72
    users = {"alice": hash_of(long)}
    with served(replace(CLOSED, users=users)) as (url, _):
        assert httpx.get(url, headers=basic("alice", long)).status_code == 200
        assert httpx.get(url, headers=basic("alice", long + "y")).status_code == 401


def test_a_scrape_pays_for_bcrypt_once() -> None:
    check = Counting()
    with served(CLOSED, check=check) as (url, _):
        for name, password in (("alice", "wonderland"), ("alice", "wrong"), ("mallory", "x")):
            before = len(check.hashes)
            for _ in range(5):
                httpx.get(f"{url}/metrics", headers=basic(name, password))
            assert len(check.hashes) == before + 1


def test_an_unknown_user_costs_what_the_dearest_known_one_does() -> None:
    check = Counting()
    users = {"cheap": hash_of("a", 4), "dear": hash_of("b", 6)}
    with served(replace(CLOSED, users=users), check=check) as (url, _):
        httpx.get(url, headers=basic("dear", "wrong"))
        httpx.get(url, headers=basic("nobody", "wrong"))
        # Nor does the password of the one whose hash is taken open anything.
        assert httpx.get(url, headers=basic("nobody", "b")).status_code == 401
    assert check.hashes == [users["dear"].encode()] * 3


def test_a_flood_of_wrong_passwords_does_not_drive_out_a_right_one() -> None:
    check = Counting()
    with served(CLOSED, check=check) as (url, _), httpx.Client() as client:
        assert client.get(url, headers=basic("alice", "wonderland")).status_code == 200
        for number in range(REMEMBERED_MAX + 20):
            client.get(url, headers=basic("alice", str(number)))
        before = len(check.hashes)
        assert client.get(url, headers=basic("alice", "wonderland")).status_code == 200
        assert len(check.hashes) == before


def test_one_is_checked_at_a_time_few_wait_and_who_is_known_does_not() -> None:
    held, inside, most = threading.Event(), [0], [0]
    entered = threading.Event()

    def check(password: bytes, hashed: bytes) -> bool:
        if password == b"wonderland":
            return check_password(password, hashed)
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        entered.set()
        held.wait(20)
        inside[0] -= 1
        return False

    with served(CLOSED, check=check) as (url, _), ThreadPoolExecutor(40) as pool:
        assert httpx.get(url, headers=basic("alice", "wonderland")).status_code == 200
        asked = [
            pool.submit(httpx.get, url, headers=basic("alice", f"{n}"), timeout=30)
            for n in range(WAITING_MAX + 5)
        ]
        assert entered.wait(20)
        until(lambda: sum(one.done() for one in asked) == 5, "five are turned away")
        assert httpx.get(url, headers=basic("alice", "wonderland")).status_code == 200
        assert httpx.get(f"{url}/-/healthy").status_code == 200
        held.set()
        codes = sorted(one.result().status_code for one in asked)
        turned_away = [one.result() for one in asked if one.result().status_code == 503]
    assert codes == [401] * WAITING_MAX + [503] * 5
    assert all(answer.headers["retry-after"] == "1" for answer in turned_away)
    assert most == [1]


def test_users_change_without_a_restart() -> None:
    with served(CLOSED) as (url, server), httpx.Client() as client:
        assert client.get(url, headers=basic("alice", "wonderland")).status_code == 200
        server.apply(replace(CLOSED, users={"alice": hash_of("looking-glass")}))
        assert client.get(url, headers=basic("alice", "wonderland")).status_code == 401
        assert client.get(url, headers=basic("alice", "looking-glass")).status_code == 200


@pytest.mark.parametrize(
    "path", ["/metrics%3Fx", "/-/healthy%3F", "/-/healthy/..%2F..%2Fmetrics", "/-/healthy;/metrics"]
)
def test_no_spelling_of_a_path_takes_another_ones_guard(path: str) -> None:
    with served(CLOSED) as (url, _):
        port = httpx.URL(url).port or 0
        with socket.create_connection(("127.0.0.1", port), 10) as plain:
            plain.sendall(f"GET {path} HTTP/1.1\r\nHost: x/-/healthy?\r\n\r\n".encode())
            assert plain.recv(4096).startswith(b"HTTP/1.1 401 ")


def test_every_answer_carries_the_headers_and_none_says_what_serves() -> None:
    headers = {"Strict-Transport-Security": "max-age=60", "X-Frame-Options": "SAMEORIGIN"}
    with served(replace(CLOSED, headers=headers)) as (url, _):
        for path in ("/", "/metrics", "/-/healthy"):
            answer = httpx.get(url + path)
            assert answer.headers["strict-transport-security"] == "max-age=60"
            assert answer.headers.get_list("x-frame-options") == ["SAMEORIGIN"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "server" not in answer.headers
            assert "0.1.0" not in answer.text


def test_other_methods_are_told_which_there_are() -> None:
    with served() as (url, _):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
            answer = httpx.request(method, f"{url}/metrics")
            assert answer.status_code == 405
            assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
        head = httpx.head(f"{url}/metrics", headers={"accept-encoding": "identity"})
        assert (head.status_code, head.content) == (200, b"")
        assert int(head.headers["content-length"]) == len(EXPOSITION.body(Form.TEXT))


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), 20)


def ended(client: socket.socket) -> bool:
    """Reads to the end, which comes by a close or a reset."""
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_a_head_that_does_not_come_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.3)
    whole = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
    with served() as (url, _):
        for already in (b"", b"GET / HTTP/1.1\r\nHost:", whole, whole + b"GET / HT"):
            with connected(url) as client:
                client.sendall(already)
                if already.startswith(whole):
                    assert client.recv(4096).startswith(b"HTTP/1.1 200")
                    client.sendall(b"GET / HTTP/1.1\r\n" if already == whole else b"TP")
                dripped = threading.Event()
                dripping = threading.Thread(target=drip, args=(client, dripped))
                dripping.start()
                assert ended(client)
                dripped.set()
                dripping.join()
        assert httpx.get(f"{url}/-/healthy").status_code == 200


def drip(client: socket.socket, enough: threading.Event) -> None:
    """A byte now and then, as a slow loris does."""
    while not enough.wait(0.05):
        try:
            client.sendall(b"X")
        except OSError:
            return


def test_an_answer_that_is_not_taken_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.2)
    monkeypatch.setattr(connection, "ANSWER_SECONDS_MAX", 0.3)
    large = b"x" * 50_000_000
    answers = replace(FINE, exposition=lambda: Exposition(lambda _: large))
    with served(answers=answers) as (url, server), connected(url) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        until(lambda: not open_connections(server), "the connection is cut")
        whole = httpx.get(f"{url}/metrics", headers={"accept-encoding": "identity"})
        assert whole.content == large


def test_a_body_that_nobody_asked_for_does_not_hold_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.3)
    with served() as (url, _), connected(url) as client:
        client.sendall(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 405")
        enough = threading.Event()
        dripping = threading.Thread(target=drip, args=(client, enough))
        dripping.start()
        assert ended(client)
        enough.set()
        dripping.join()


def open_connections(server: Any) -> set[Any]:
    """Nothing that is public tells of them."""
    return set(server._running[0].server_state.connections)


def test_there_is_an_end_to_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS_MAX", 3)
    with served() as (url, server):
        held = [connected(url) for _ in range(3)]
        until(lambda: len(open_connections(server)) == 3, "three are open")
        with connected(url) as fourth:
            assert ended(fourth)
        held.pop().close()
        until(lambda: len(open_connections(server)) == 2, "one has left")
        assert httpx.get(f"{url}/-/healthy").status_code == 200
        for one in held:
            one.close()


def test_an_answer_is_not_held_back_for_an_acknowledgement() -> None:
    with served() as (url, server), connected(url):
        until(lambda: open_connections(server), "it is open")
        (one,) = open_connections(server)
        plain = one.transport.get_extra_info("socket")
        assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_giant_head_is_refused_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with served() as (url, _), connected(url) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000)
        assert client.recv(4096).startswith(b"HTTP/1.1 4")
    assert tuple(capfd.readouterr()) == ("", "")
