"""The server: a thread of its own, a port, and settings that can be changed while it serves."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from cronledger.core.web import WebSettings
from cronledger.errors import ConfigError, RefusedError
from cronledger.http.app import Answers, application
from cronledger.http.connection import HANDSHAKE_SECONDS_MAX, Connection
from cronledger.http.guards import Guarded
from cronledger.http.passwords import CheckPassword, Passwords
from cronledger.http.tls import Latest, context_of

LOOPBACK = "127.0.0.1"
DRAIN_SECONDS_MAX = 2
OPEN = WebSettings()


def _no_passwords(_password: bytes, _hashed: bytes) -> bool:
    raise AssertionError("settings with users come with what checks their passwords")


class Server:
    """Serves `answers` on a thread of its own, from `start` until `stop`."""

    def __init__(
        self,
        answers: Answers,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        settings: WebSettings = OPEN,
        check_password: CheckPassword = _no_passwords,
    ) -> None:
        """`port` 0 takes any free port. Raises ConfigError if a certificate cannot be used."""
        self._answers, self._address = answers, (host, port)
        self._settings, self._check_password = settings, check_password
        self._tls = Latest.of(context_of(settings.tls)) if settings.tls else None
        self._running: tuple[_Uvicorn, Thread] | None = None

    @property
    def settings(self) -> WebSettings:
        """Those in force."""
        return self._settings

    @property
    def scheme(self) -> str:
        """`https` or `http`."""
        return "http" if self._tls is None else "https"

    def apply(self, settings: WebSettings) -> None:
        """Serve by `settings` from the next request and the next connection on.

        Raises ConfigError, and goes on by the old ones, if they cannot be used.
        """
        if (settings.tls is None) != (self._tls is None):
            raise ConfigError("tls_server_config: TLS begins and ends with a restart; restart")
        if self._tls is not None and settings.tls is not None:
            self._tls.current = context_of(settings.tls)
        self._settings = settings

    def start(self) -> int:
        """The port bound, once requests are answered. Raises RefusedError if it cannot be had."""
        assert self._running is None, "the server runs already"
        listener = _listen(*self._address)
        port: int = listener.getsockname()[1]
        passwords = Passwords(self._check_password)
        app = Guarded(application(self._answers), lambda: self._settings, passwords)
        server = _Uvicorn(app, self._tls)
        thread = Thread(target=server.run, args=([listener],), name="cronledger-http", daemon=True)
        thread.start()
        server.up.wait()
        assert server.started, "the server ended before it was up; its error is on stderr"
        self._running = (server, thread)
        return port

    def stop(self) -> None:
        """Answers what is under way, closes the socket and ends the thread. Safe to repeat."""
        if self._running is None:
            return
        server, thread = self._running
        server.should_exit = True
        thread.join()
        self._running = None


class _Uvicorn(uvicorn.Server):
    """A server that says when it is up. Off the main thread it leaves signals alone."""

    def __init__(self, app: ASGIApp, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                # Below that, every stranger who sends nonsense could fill the log.
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=DRAIN_SECONDS_MAX,
                ssl_context_factory=_constantly(tls),
            )
        )
        self.up = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            with asyncio.Runner(loop_factory=_Loop) as runner:
                runner.run(self.serve(sockets))
        finally:
            # Whoever waits must not wait for a server that died on its way up.
            self.up.set()


class _Loop(asyncio.SelectorEventLoop):
    """Gives a client less than a minute for its handshake."""

    async def create_server(self, *arguments: Any, **named: Any) -> asyncio.Server:
        if named.get("ssl") is not None:
            named["ssl_handshake_timeout"] = HANDSHAKE_SECONDS_MAX
        return await super().create_server(*arguments, **named)


def _constantly(
    tls: ssl.SSLContext | None,
) -> Callable[[uvicorn.Config, Callable[[], ssl.SSLContext]], ssl.SSLContext] | None:
    return None if tls is None else lambda _config, _default: tls


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise RefusedError(
            f"cannot listen on {host}:{port}: {error.strerror}; give another address or port"
        ) from error
