"""The web config: a subset of the `web.config.yml` of Prometheus exporters, and `guards` of ours.

What that file knows and this server cannot do is refused, never passed over.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from cronledger.adapters.config.fields import MAX_TEXT, choice, text
from cronledger.adapters.config.findings import Findings, Place, shown
from cronledger.adapters.config.nodes import MapNode, RefusedNode, TextNode
from cronledger.adapters.config.part import Part
from cronledger.adapters.config.reader import read
from cronledger.adapters.config.source import decode, read_bytes
from cronledger.adapters.config.strict import Strict
from cronledger.core.web import ClientAuth, Guard, Guards, Tls, TlsVersion, WebSettings
from cronledger.errors import ConfigError, Problem

COST_MAX = 14  # a second a check; the server makes one at a time

_HASH = re.compile(r"\$2[aby]\$([0-9]{2})\$[./A-Za-z0-9]{53}")
_NAME = re.compile(r"[^:\x00-\x1f\x7f]{1,100}")
_HEADER = re.compile(r"[\x20-\x7e]+")


class Off(StrEnum):
    """A switch that this server has in one position only."""

    FALSE = "false"


PathText = Annotated[str, text("the path of a PEM file", MAX_TEXT)]
HeaderText = Annotated[str, text("the value of a header, in ASCII", MAX_TEXT, _HEADER)]
VersionName = Annotated[TlsVersion, choice(TlsVersion)]
GuardName = Annotated[Guard, choice(Guard)]


class TlsModel(Strict):
    cert_file: PathText | None = None
    key_file: PathText | None = None
    client_auth_type: Annotated[ClientAuth, choice(ClientAuth)] | None = None
    client_ca_file: PathText | None = None
    min_version: VersionName | None = None
    max_version: VersionName | None = None


class HeadersModel(Strict):
    """The ones that exporters let a file set."""

    csp: HeaderText | None = Field(default=None, alias="Content-Security-Policy")
    frame: HeaderText | None = Field(default=None, alias="X-Frame-Options")
    sniff: HeaderText | None = Field(default=None, alias="X-Content-Type-Options")
    xss: HeaderText | None = Field(default=None, alias="X-XSS-Protection")
    hsts: HeaderText | None = Field(default=None, alias="Strict-Transport-Security")


class HttpModel(Strict):
    http2: Annotated[Off, choice(Off)] | None = None
    headers: HeadersModel | None = None


class GuardsModel(Strict):
    probes: GuardName | None = None
    metrics: GuardName | None = None
    page: GuardName | None = None


class WebModel(Strict):
    tls_server_config: TlsModel | None = None
    http_server_config: HttpModel | None = None
    basic_auth_users: dict[str, Any] | None = None
    guards: GuardsModel | None = None


def load_web(path: Path) -> WebSettings:
    """The settings of the file at `path`. Raises ConfigError with every problem found."""
    if not path.exists():
        raise ConfigError([Problem("there is no such file; name the web config", file=str(path))])
    findings = Findings(str(path))
    root = read(decode(read_bytes(path), findings), findings)
    if root is None or (isinstance(root, TextNode) and not root.text):
        return WebSettings()  # as exporters have it: an empty file asks for nothing
    if not isinstance(root, MapNode):
        if not isinstance(root, RefusedNode):
            findings.add(root.place, "expected a mapping; write tls_server_config: and so on")
        raise findings.error()
    part = Part("", Place(1, 1), root, findings)
    model = part.shape(WebModel)
    users = _users(part)
    tls = _tls(part, model.tls_server_config, path.parent)
    headers = model.http_server_config and model.http_server_config.headers
    given = headers.model_dump(by_alias=True, exclude_none=True) if headers else {}
    settings = WebSettings(tls, users, given, _guards(part, model.guards, tls, users))
    if findings.problems:
        raise findings.error()
    return settings


def _users(part: Part) -> dict[str, str]:
    """Names and hashes. A problem never shows a value: it may be the password itself."""
    within = part.within("basic_auth_users")
    users: dict[str, str] = {}
    for name, entry in within.node.entries.items() if within is not None else ():
        place = entry.key_place
        if isinstance(entry.value, RefusedNode):
            continue
        found = _HASH.fullmatch(entry.value.text) if isinstance(entry.value, TextNode) else None
        if not _NAME.fullmatch(name):
            part.refuse_at(place, f"{shown(name)} is no user name; write one without ':'")
        elif found is None or not isinstance(entry.value, TextNode):
            message = "no bcrypt hash; make one with 'htpasswd -nBC 10 NAME'"
            part.refuse_at(place, f"basic_auth_users: {shown(name)}: {message}")
        elif not 4 <= int(found[1]) <= COST_MAX:
            message = f"its cost is {found[1]}; write a hash of cost 4 to {COST_MAX}"
            part.refuse_at(place, f"basic_auth_users: {shown(name)}: {message}")
        else:
            users[name] = entry.value.text
    return users


def _tls(part: Part, model: TlsModel | None, folder: Path) -> Tls | None:
    within = part.within("tls_server_config") if model is not None else None
    if model is None or within is None:
        return None
    for key in ("cert_file", "key_file"):
        if not within.stands_for(key):
            within.refuse_at(within.place, f"tls_server_config: missing key '{key}'; add it")
    auth = model.client_auth_type or ClientAuth.NONE
    asks = auth is not ClientAuth.NONE
    if asks and not within.stands_for("client_ca_file"):
        message = f"{auth} needs 'client_ca_file'; name the CA of the clients' certificates"
        within.refuse(["client_auth_type"], f"client_auth_type: {message}")
    if not asks and "client_ca_file" in within.node.entries:
        message = f"write client_auth_type: {ClientAuth.REQUIRED}, or remove the key"
        within.refuse(["client_ca_file"], f"client_ca_file: no client is asked for one; {message}")
    low, high = model.min_version or TlsVersion.TLS12, model.max_version or TlsVersion.TLS13
    if high < low:
        within.refuse(["max_version"], "max_version: is below min_version; write a later one")
    files = (model.cert_file or "", model.key_file or "")
    ca = str(folder / model.client_ca_file) if model.client_ca_file and asks else None
    return Tls(str(folder / files[0]), str(folder / files[1]), ca, auth, low, high)


def _guards(part: Part, model: GuardsModel | None, tls: Tls | None, users: object) -> Guards:
    usual = Guard.USERS if users else Guard.OPEN
    chosen = model or GuardsModel()
    for name, guard in chosen.model_dump(exclude_none=True).items():
        if guard is Guard.USERS and not users:
            part.refuse(["guards", name], f"guards.{name}: nobody is in 'basic_auth_users'")
        if guard is Guard.CERTIFICATE and (tls is None or tls.client_auth is ClientAuth.NONE):
            message = f"write client_auth_type: {ClientAuth.IF_GIVEN} under 'tls_server_config'"
            part.refuse(["guards", name], f"guards.{name}: no client shows one; {message}")
    return Guards(chosen.probes or Guard.OPEN, chosen.metrics or usual, chosen.page or usual)
