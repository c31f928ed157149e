"""How the HTTP endpoint is secured: TLS, users, response headers, and who may read which part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ClientAuth(StrEnum):
    """Whether a client shows a certificate at the handshake; one that is shown is verified."""

    NONE = "NoClientCert"
    IF_GIVEN = "VerifyClientCertIfGiven"
    REQUIRED = "RequireAndVerifyClientCert"


class TlsVersion(StrEnum):
    TLS12 = "TLS12"
    TLS13 = "TLS13"


class Guard(StrEnum):
    """Who may read: anyone, those who give a user's password, those who showed a certificate."""

    OPEN = "open"
    USERS = "users"
    CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificate and key of the server, as paths of PEM files, and what is asked of clients."""

    cert_file: str
    key_file: str
    client_ca_file: str | None = None
    client_auth: ClientAuth = ClientAuth.NONE
    min_version: TlsVersion = TlsVersion.TLS12
    max_version: TlsVersion = TlsVersion.TLS13

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that is read."""
        return tuple(path for path in (self.cert_file, self.key_file, self.client_ca_file) if path)


@dataclass(frozen=True, slots=True)
class Guards:
    """The guard of each part of the endpoint; what exists nowhere is guarded as the page."""

    probes: Guard = Guard.OPEN
    metrics: Guard = Guard.OPEN
    page: Guard = Guard.OPEN


@dataclass(frozen=True, slots=True)
class WebSettings:
    """All of it. `users`: bcrypt hashes by name. `headers` go out with every answer."""

    tls: Tls | None = None
    users: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    guards: Guards = Guards()

    @property
    def shut(self) -> bool:
        """Whether metrics and page are closed to those who can merely reach the port."""
        if self.tls is not None and self.tls.client_auth is ClientAuth.REQUIRED:
            return True
        return Guard.OPEN not in (self.guards.metrics, self.guards.page)
