"""What is served over HTTP: `/metrics`, `/-/healthy`, `/-/ready` and a page that links them.

Nothing is measured here. A request is answered from memory by the callables handed in, which must
return at once: they run on the server's only thread.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Thread

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from cronledger.core.exposition import Body, Exposition
from cronledger.errors import RefusedError

# Reasons why not; none means yes.
Verdict = Callable[[], Sequence[str]]
# The exposition of the last snapshot.
Rendered = Callable[[], Exposition]

LOOPBACK = "127.0.0.1"
CONNECTIONS_MAX = 256
DRAIN_SECONDS_MAX = 2

_LANDING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>cronledger</title></head>
<body><h1>cronledger {version}</h1>
<ul>
<li><a href="/metrics">/metrics</a>: the last snapshot, for Prometheus</li>
<li><a href="/-/healthy">/-/healthy</a>: is this process at work?</li>
<li><a href="/-/ready">/-/ready</a>: can it do its work?</li>
</ul></body></html>
"""


@dataclass(frozen=True, slots=True)
class Answers:
    """Where the answers come from. `healthy` must not depend on the database; `ready` does."""

    exposition: Rendered
    healthy: Verdict
    ready: Verdict
    version: str = ""


class Server:
    """Serves `answers` on a thread of its own, from `start` until `stop`."""

    def __init__(self, answers: Answers, *, host: str = LOOPBACK, port: int = 0) -> None:
        """`port` 0 takes any free port."""
        self._app = application(answers)
        self._address = (host, port)
        self._running: tuple[_Uvicorn, Thread] | None = None

    def start(self) -> int:
        """The port bound, once requests are answered. Raises RefusedError if it cannot be had."""
        assert self._running is None, "the server runs already"
        listener = _listen(*self._address)
        port: int = listener.getsockname()[1]
        server = _Uvicorn(self._app)
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

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=DRAIN_SECONDS_MAX,
            )
        )
        self.up = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            # Whoever waits must not wait for a server that died on its way up.
            self.up.set()


def application(answers: Answers) -> Starlette:
    """The routes over `answers`."""

    async def metrics(request: Request) -> Response:
        return _negotiated(answers.exposition(), request)

    async def healthy(_request: Request) -> Response:
        reasons = answers.healthy()
        text = "\n".join(reasons) if reasons else "healthy"
        return PlainTextResponse(text + "\n", status_code=503 if reasons else 200)

    async def ready(_request: Request) -> Response:
        reasons = list(answers.ready())
        return JSONResponse(
            {"schema_version": 1, "ready": not reasons, "reasons": reasons},
            status_code=503 if reasons else 200,
        )

    async def landing(_request: Request) -> Response:
        return HTMLResponse(_LANDING.format(version=answers.version))

    return Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/-/healthy", healthy),
            Route("/-/ready", ready),
            Route("/", landing),
        ]
    )


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise RefusedError(
            f"cannot listen on {host}:{port}: {error.strerror}; give another address or port"
        ) from error


def _negotiated(exposition: Exposition, request: Request) -> Response:
    accept = request.headers.get("accept", "")
    open_wish = _wish(accept, "application/openmetrics-text")
    wants_open = open_wish > 0 and open_wish >= _wish(accept, "text/plain")
    body = exposition.openmetrics if wants_open else exposition.text
    return _encoded(body, _wish(request.headers.get("accept-encoding", ""), "gzip") > 0)


def _encoded(body: Body, gzipped: bool) -> Response:
    headers = {"content-type": body.content_type, "vary": "Accept, Accept-Encoding"}
    if gzipped:
        headers["content-encoding"] = "gzip"
    return Response(body.gzipped if gzipped else body.plain, headers=headers)


def _wish(header: str, name: str) -> float:
    """How much an Accept header wants `name` spelled out, from 0 (not) to 1."""
    wishes = (item.strip().lower().split(";") for item in header.split(","))
    return max((_weight(wish[1:]) for wish in wishes if wish[0].strip() == name), default=0.0)


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        key, _, value = parameter.strip().partition("=")
        if key.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
