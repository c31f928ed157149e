"""TLS of the endpoint: real handshakes by httpx, curl and the standard library."""

from __future__ import annotations

import socket
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from endpoints import EXPOSITION, served

from certificates import Authority, hash_of
from cronledger.core.exposition import Form
from cronledger.core.web import ClientAuth, Guard, Guards, Tls, TlsVersion, WebSettings
from cronledger.errors import ConfigError
from cronledger.http import server as server_module


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def tls(ca: Authority) -> Tls:
    cert, key = ca.issue("server")
    return Tls(str(cert), str(key))


def client_of(ca: Authority, client: tuple[Path, Path] | None = None) -> httpx.Client:
    return httpx.Client(verify=ca.trusting(client))


def test_metrics_come_over_tls_and_only_so(ca: Authority, tls: Tls) -> None:
    with served(WebSettings(tls)) as (url, _), client_of(ca) as client:
        assert url.startswith("https://")
        assert client.get(f"{url}/metrics").content == EXPOSITION.body(Form.TEXT)
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http"))
        with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
            httpx.get(url)
        assert client.get(f"{url}/-/healthy").status_code == 200


def test_curl_gets_them_too(ca: Authority, tls: Tls) -> None:
    with served(WebSettings(tls)) as (url, _):
        command = ["curl", "-sSf", "--compressed", "--cacert", str(ca.file), f"{url}/metrics"]
        got = subprocess.run(command, capture_output=True, check=True, timeout=20)
    assert got.stdout == EXPOSITION.body(Form.TEXT)


def test_failed_handshakes_and_nonsense_are_not_printed(
    tls: Tls, capfd: pytest.CaptureFixture[str]
) -> None:
    with served(WebSettings(tls)) as (url, _):
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)
        with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert not stranger.recv(100).startswith(b"HTTP")
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.mark.parametrize(
    ("low", "high", "client_high", "works"),
    [
        (TlsVersion.TLS12, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_2, True),
        (TlsVersion.TLS13, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_3, True),
        (TlsVersion.TLS13, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_2, False),
        (TlsVersion.TLS12, TlsVersion.TLS12, ssl.TLSVersion.TLSv1_3, True),
    ],
)
def test_the_version_is_within_bounds(
    ca: Authority,
    tls: Tls,
    low: TlsVersion,
    high: TlsVersion,
    client_high: ssl.TLSVersion,
    works: bool,
) -> None:
    context = ca.trusting()
    context.maximum_version = client_high
    with served(WebSettings(replace(tls, min_version=low, max_version=high))) as (url, _):
        address = ("127.0.0.1", httpx.URL(url).port or 0)
        with socket.create_connection(address, 10) as plain:
            if not works:
                with pytest.raises(ssl.SSLError):
                    context.wrap_socket(plain, server_hostname="127.0.0.1")
                return
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                spoken = {"TLSv1.2": TlsVersion.TLS12, "TLSv1.3": TlsVersion.TLS13}
                assert low <= spoken[str(secure.version())] <= high


@pytest.mark.parametrize(("version", "works"), [("-tls1_1", False), ("-tls1_2", True)])
def test_no_old_version_is_spoken(tls: Tls, version: str, works: bool) -> None:
    with served(WebSettings(tls)) as (url, _):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{httpx.URL(url).port}", version,
             "-cipher", "ALL:@SECLEVEL=0"],
            input=b"", capture_output=True, check=False, timeout=20,
        )  # fmt: skip
    assert (done.returncode == 0) is works


def test_a_client_certificate_is_demanded(ca: Authority, tls: Tls, tmp_path: Path) -> None:
    ours = ca.issue("client", "prometheus@example.org")
    theirs = Authority(tmp_path, "other").issue("stranger", "prometheus@example.org")
    asked = replace(tls, client_ca_file=str(ca.file), client_auth=ClientAuth.REQUIRED)
    with served(WebSettings(asked)) as (url, _):
        with client_of(ca, ours) as client:
            assert client.get(f"{url}/metrics").status_code == 200
        for certificate in (None, theirs):
            with client_of(ca, certificate) as client, pytest.raises(httpx.TransportError):
                client.get(f"{url}/-/healthy")


def test_probes_stay_open_where_metrics_ask_for_a_certificate(ca: Authority, tls: Tls) -> None:
    ours = ca.issue("client", "prometheus@example.org")
    asked = replace(tls, client_ca_file=str(ca.file), client_auth=ClientAuth.IF_GIVEN)
    guards = Guards(metrics=Guard.CERTIFICATE, page=Guard.CERTIFICATE)
    with served(WebSettings(asked, guards=guards)) as (url, _):
        with client_of(ca) as client:
            assert client.get(f"{url}/-/healthy").status_code == 200
            for path in ("/metrics", "/", "/nothing"):
                assert client.get(url + path).status_code == 403
        with client_of(ca, ours) as client:
            assert client.get(f"{url}/metrics").status_code == 200


def serial(url: str, ca: Authority) -> bytes:
    """What identifies the certificate that a new connection is shown."""
    address = ("127.0.0.1", httpx.URL(url).port or 0)
    with (
        socket.create_connection(address, 10) as plain,
        ca.trusting().wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        shown = secure.getpeercert(binary_form=True)
        assert shown is not None
        return shown


def test_a_new_certificate_is_shown_without_a_restart(ca: Authority, tls: Tls) -> None:
    settings = WebSettings(tls)
    with served(settings) as (url, server), client_of(ca) as client:
        assert client.get(url).status_code == 200
        first = serial(url, ca)
        ca.issue("server")
        assert serial(url, ca) == first
        server.apply(settings)
        second = serial(url, ca)
        assert second != first
        assert client.get(url).status_code == 200  # on the connection that it had
        assert serial(url, ca) == second


def test_a_client_ca_can_be_replaced_without_a_restart(
    ca: Authority, tls: Tls, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other")
    ours, theirs = ca.issue("client", "a@b.example"), other.issue("stranger", "a@b.example")
    asked = replace(tls, client_ca_file=str(ca.file), client_auth=ClientAuth.REQUIRED)
    with served(WebSettings(asked)) as (url, server):
        server.apply(WebSettings(replace(asked, client_ca_file=str(other.file))))
        with client_of(ca, theirs) as client:
            assert client.get(url).status_code == 200
        with client_of(ca, ours) as client, pytest.raises(httpx.TransportError):
            client.get(url)


@pytest.fixture(params=["missing", "no pem", "wrong key", "passphrase", "empty", "folder"])
def broken(request: pytest.FixtureRequest, ca: Authority, tls: Tls, tmp_path: Path) -> Tls:
    """A pair that cannot be used, in one of many ways."""
    bad = tmp_path / "bad.pem"
    match request.param:
        case "no pem":
            bad.write_text("hello")
        case "wrong key":
            return replace(tls, key_file=str(ca.issue("another")[1]))
        case "passphrase":
            subprocess.run(
                ["openssl", "pkcs8", "-topk8", "-in", tls.key_file, "-out", str(bad),
                 "-passout", "pass:secret"],
                check=True, timeout=20,
            )  # fmt: skip
            return replace(tls, key_file=str(bad))
        case "empty":
            bad.write_bytes(b"")
        case "folder":
            bad.mkdir()
    return replace(tls, cert_file=str(bad))


def test_a_certificate_that_cannot_be_used_is_named_and_the_old_one_stays(
    ca: Authority, tls: Tls, broken: Tls
) -> None:
    with pytest.raises(ConfigError) as refused, served(WebSettings(broken)):
        pytest.fail("it serves")
    (problem,) = refused.value.problems
    assert problem.file in (broken.cert_file, broken.key_file)
    assert ";" in problem.message
    users = {"alice": hash_of("wonderland")}
    with served(WebSettings(tls)) as (url, server):
        before = serial(url, ca)
        with pytest.raises(ConfigError):
            server.apply(WebSettings(broken, users, guards=Guards(page=Guard.USERS)))
        assert serial(url, ca) == before
        with client_of(ca) as client:
            assert client.get(url).status_code == 200  # nor are the users in force


def test_a_client_ca_that_is_none_is_named(tls: Tls, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("hello")
    asked = replace(tls, client_ca_file=str(bad), client_auth=ClientAuth.REQUIRED)
    with (
        pytest.raises(ConfigError, match=r"bad\.pem: holds no certificate"),
        served(WebSettings(asked)),
    ):
        pytest.fail("it serves")


@pytest.mark.parametrize("begins", [True, False])
def test_tls_begins_and_ends_with_a_restart(tls: Tls, begins: bool) -> None:
    bare, secured = WebSettings(), WebSettings(tls)
    with (
        served(bare if begins else secured) as (_, server),
        pytest.raises(ConfigError, match="restart"),
    ):
        server.apply(secured if begins else bare)


def test_a_client_that_never_shakes_hands_is_left(
    tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HANDSHAKE_SECONDS_MAX", 0.2)
    with served(WebSettings(tls)) as (url, _):
        address = ("127.0.0.1", httpx.URL(url).port or 0)
        with socket.create_connection(address, 10) as silent:
            assert silent.recv(1) == b""
