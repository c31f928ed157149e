"""bcrypt, which is installed only where the endpoint has users (`cronledger[web]`)."""

from __future__ import annotations

from collections.abc import Mapping

import bcrypt

from cronledger.errors import ConfigError

_COST_LEAST = b"04"


def check_password(password: bytes, hashed: bytes) -> bool:
    """Whether the password (72 bytes at most, no NUL) has this hash."""
    return bcrypt.checkpw(password, hashed)


def refuse_unusable(users: Mapping[str, str]) -> None:
    """Raises ConfigError for a hash that looks like one and is none."""
    for name, hashed in users.items():
        _, kind, _, rest = hashed.encode().split(b"$")
        try:
            # The salt alone, at the least cost: a millisecond each.
            bcrypt.hashpw(b"", b"$".join((b"", kind, _COST_LEAST, rest[:22])))
        except ValueError:
            message = "no bcrypt hash; make one with 'htpasswd -nBC 10 NAME'"
            raise ConfigError(f"basic_auth_users: {name!r}: {message}") from None
