"""TLS by the newest certificates: a connection begun after a reload is made with what it loaded."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from cronledger.core.web import ClientAuth, Tls, TlsVersion
from cronledger.errors import ConfigError, Problem

_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.IF_GIVEN: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
_VERSION = {
    TlsVersion.TLS12: ssl.TLSVersion.TLSv1_2,
    TlsVersion.TLS13: ssl.TLSVersion.TLSv1_3,
}


def context_of(tls: Tls) -> ssl.SSLContext:
    """A context with everything loaded. Raises ConfigError that names the file at fault."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSION[tls.min_version]
    context.maximum_version = _VERSION[tls.max_version]
    context.set_alpn_protocols(["http/1.1"])
    for path in tls.files:
        _readable(path)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file, lambda: _no_passphrase(tls.key_file))
    except ssl.SSLError as error:
        message = f"with {tls.cert_file} this makes no certificate and its key, both PEM"
        raise _refused(tls.key_file, f"{message}; write the two that belong together") from error
    if tls.client_ca_file is not None:
        try:
            context.load_verify_locations(tls.client_ca_file)
        except ssl.SSLError as error:
            message = "holds no certificate in PEM form; write the CA of the clients"
            raise _refused(tls.client_ca_file, message) from error
    context.verify_mode = _VERIFY[tls.client_auth]
    return context


class Latest(ssl.SSLContext):
    """Hands each new connection to the context set last; asyncio keeps one for a whole server."""

    current: ssl.SSLContext

    @classmethod
    def of(cls, current: ssl.SSLContext) -> Latest:
        """One that hands on to `current` until another is set."""
        made = cls(ssl.PROTOCOL_TLS_SERVER)
        made.current = current
        return made

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        """As the current context does it."""
        return self.current.wrap_bio(*arguments, **named)


def _readable(path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        message = f"cannot be read: {error.strerror}; mend the path or its rights"
        raise _refused(path, message) from error


def _no_passphrase(path: str) -> str:
    """OpenSSL would ask at the terminal."""
    raise _refused(path, "has a passphrase; write a key without, readable by this user only")


def _refused(path: str, message: str) -> ConfigError:
    return ConfigError([Problem(message, file=path)])
