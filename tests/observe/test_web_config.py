"""What a web config may say, and what each mistake in it is answered with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from h11._connection import DEFAULT_MAX_INCOMPLETE_EVENT_SIZE

from cronledger.adapters.config.web import COST_MAX, load_web
from cronledger.adapters.passwords import refuse_unusable
from cronledger.core.web import ClientAuth, Guard, Guards, Tls, TlsVersion, WebSettings
from cronledger.daemon.ping import PING_SECONDS_MAX
from cronledger.errors import ConfigError
from cronledger.http import connection
from cronledger.http.passwords import WAITING_MAX

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
# Of "wonderland"; it stands in names of tests, which processes must agree on.
HASH = "$2b$04$GyUPX2dkDlOcjI3KwGr26OZ8JW6bdE.7H0mjnK9HRPGROWA/faR9."
USERS = f"basic_auth_users:\n  alice: {HASH}\n"
TLS = "tls_server_config:\n  cert_file: a.pem\n  key_file: /etc/a.key\n"


def loaded(folder: Path, text: str) -> WebSettings:
    path = folder / "web.yml"
    path.write_text(text, encoding="utf-8")
    return load_web(path)


def test_an_empty_file_asks_for_nothing(tmp_path: Path) -> None:
    for text in ("", "# nothing yet\n", "{}\n"):
        assert loaded(tmp_path, text) == WebSettings()


def test_a_file_as_exporters_have_it_is_read_whole(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        f"""
tls_server_config:
  cert_file: server.crt
  key_file: /etc/ssl/server.key
  client_auth_type: "RequireAndVerifyClientCert"
  client_ca_file: tls/ca.crt
  min_version: "TLS13"
http_server_config:
  http2: false
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Frame-Options: deny
{USERS}""",
    )
    assert settings == WebSettings(
        Tls(
            str(tmp_path / "server.crt"),
            "/etc/ssl/server.key",
            str(tmp_path / "tls" / "ca.crt"),
            ClientAuth.REQUIRED,
            TlsVersion.TLS13,
        ),
        {"alice": HASH},
        {"Strict-Transport-Security": "max-age=31536000", "X-Frame-Options": "deny"},
        Guards(Guard.OPEN, Guard.USERS, Guard.USERS),
    )


def test_guards_may_be_said_one_by_one(tmp_path: Path) -> None:
    settings = loaded(tmp_path, f"{USERS}guards:\n  probes: users\n  page: open\n")
    assert settings.guards == Guards(Guard.USERS, Guard.USERS, Guard.OPEN)
    assert not settings.shut
    assert loaded(tmp_path, USERS).shut


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tls_server_config: {cert_file: a}", "1:1: tls_server_config: missing key 'key_file'"),
        (f"{TLS}  cipher_suites: [A]", "4:3: unknown key 'cipher_suites'; known are cert_file"),
        (f"{TLS}  min_version: TLS11", "4:16: tls_server_config.min_version: expected one of"),
        (f"{TLS}  min_version: TLS13\n  max_version: TLS12", "5:16: max_version: is below"),
        (f"{TLS}  client_auth_type: RequireAnyClientCert", "4:21: .*expected one of NoClientCert"),
        (f"{TLS}  client_auth_type: RequireAndVerifyClientCert", "4:21: .* needs 'client_ca_file'"),
        (f"{TLS}  client_ca_file: ca.pem", "4:19: client_ca_file: no client is asked for one"),
        ("http_server_config: {http2: true}", "1:29: http_server_config.http2: expected one of fa"),
        ("http_server_config:\n  headers: {X-Powered-By: me}", "2:13: unknown key 'X-Powered-By'"),
        ('http_server_config: {headers: {X-Frame-Options: "a\\nb"}}', "expected the value of a h"),
        ("rate_limit: {burst: 1}", "1:1: unknown key 'rate_limit'; known are tls_server_config"),
        ("basic_auth_users: [alice]", "1:19: basic_auth_users: expected a mapping, got a list"),
        ("basic_auth_users: {alice: secret}", "1:20: basic_auth_users: 'alice': no bcrypt hash"),
        ("basic_auth_users: {alice: {secret: 1}}", "1:20: .*'alice': no bcrypt hash; make one"),
        (f"basic_auth_users: {{'a:b': '{HASH}'}}", "1:20: 'a:b' is no user name"),
        (USERS.replace("$04$", "$31$"), "2:3: .*'alice': its cost is 31; write a hash of cost 4"),
        ("guards: {metrics: users}", "1:19: guards.metrics: nobody is in 'basic_auth_users'"),
        ("guards: {page: certificate}", "1:16: guards.page: no client shows one; write client_au"),
        ("guards: {pages: open}", "1:10: unknown key 'pages'; did you mean 'page'?"),
        ("guards: {page: closed}", "1:16: guards.page: expected one of open, users, certificate"),
        ("- a", "1:1: expected a mapping; write tls_server_config"),
        ("a: [", "not YAML|does not end"),
        ("a: &x 1", "anchor"),
    ],
)
def test_each_mistake_is_one_message_at_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        loaded(tmp_path, text)
    assert all(
        str(problem).startswith(f"{tmp_path}/web.yml:") for problem in refused.value.problems
    )
    assert "secret" not in str(refused.value)


def test_every_mistake_is_found_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, "tls_server_config: {}\nbasic_auth_users: {a: b}\nguards: {page: no}\n")
    assert [problem.line for problem in refused.value.problems] == [1, 1, 2, 3]


def test_the_file_on_the_page_is_one(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(tls_server_config.*?)```", PAGE, re.DOTALL)
    assert found is not None
    settings = loaded(tmp_path, found[1])
    refuse_unusable(settings.users)
    assert settings.tls is not None
    assert settings.guards == Guards(Guard.OPEN, Guard.USERS, Guard.USERS)


@pytest.mark.parametrize(
    "figure",
    [
        f"{connection.HANDSHAKE_SECONDS_MAX:g} s for a handshake",
        f"{connection.HEAD_SECONDS_MAX:g} s for a request's head",
        f"{connection.ANSWER_SECONDS_MAX:g} s to take the answer",
        f"{connection.CONNECTIONS_MAX} connections",
        f"{DEFAULT_MAX_INCOMPLETE_EVENT_SIZE // 1024} KiB of headers",
        f"When {WAITING_MAX} checks wait",
        f"cost {COST_MAX} (the most that is taken)",
        f"given up after {PING_SECONDS_MAX:g} s",
    ],
)
def test_the_figures_on_the_page_are_those_in_force(figure: str) -> None:
    assert figure in " ".join(PAGE.split())


def test_what_only_looks_like_a_hash_is_refused() -> None:
    refuse_unusable({"alice": HASH, "bob": HASH.replace("$2b$", "$2y$")})
    torn = HASH[:28] + ("x" if HASH[28] != "x" else "y") + HASH[29:]
    with pytest.raises(ConfigError, match="'bob': no bcrypt hash; make one") as refused:
        refuse_unusable({"alice": HASH, "bob": torn})
    assert torn not in str(refused.value)
