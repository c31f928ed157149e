"""Pings by HTTP. The address is a secret: whoever has it can keep the switch from firing.

No message here shows it; not the library's either, which may quote it.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from cronledger.errors import ConfigError

STEP_SECONDS_MAX = 10.0  # for the connection, and for each wait on it

_EXPECTED = "write https://HOST/PATH, as the service that watches gave it"


def sender(url: str, version: str) -> Callable[[], str]:
    """What sends one ping to `url` and says why it did not arrive, "" if it did.

    Raises ConfigError, without the address, if it is none.
    """
    _check(url)
    request = urllib.request.Request(  # noqa: S310  # the scheme is checked above
        url, headers={"User-Agent": f"cronledger/{version}"}
    )
    # Proxies are those of the environment.
    opener = urllib.request.build_opener(_Here)

    def send() -> str:
        try:
            with opener.open(request, timeout=STEP_SECONDS_MAX):
                return ""
        except urllib.error.HTTPError as error:
            with error:
                moved = "; give the address that it leads to" if 300 <= error.code < 400 else ""
            return f"the answer was status {error.code}{moved}"
        except urllib.error.URLError as error:
            return _why(error.reason)
        except Exception as error:  # whatever it was, its text may quote the address
            return _why(error)

    return send


class _Here(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: the address would go along, perhaps in clear text."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Nothing to follow."""


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.username is None
            and parts.port != 0
            and url.isascii()
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        fine = False
    if not fine:
        raise ConfigError(f"the ping URL is none (it is not shown, being a secret); {_EXPECTED}")


def _why(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {STEP_SECONDS_MAX:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
