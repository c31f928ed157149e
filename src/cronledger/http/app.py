"""What is served over HTTP: `/metrics`, `/-/healthy`, `/-/ready` and a page that links them.

Nothing is measured here. A request is answered from memory by the callables handed in, which must
return at once: they run on the server's only thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from cronledger.core.exposition import CONTENT_TYPES, Exposition, Form
from cronledger.http.guards import HEALTHY, METRICS, READY

# Reasons why not; none means yes.
Verdict = Callable[[], Sequence[str]]
# The exposition of the last snapshot.
Rendered = Callable[[], Exposition]

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

    app = Starlette(
        routes=[
            Route(METRICS, metrics),
            Route(HEALTHY, healthy),
            Route(READY, ready),
            Route("/", landing),
        ]
    )
    # A redirect would answer for a path that has another guard.
    app.router.redirect_slashes = False
    return app


def _negotiated(exposition: Exposition, request: Request) -> Response:
    accept = request.headers.get("accept", "")
    open_wish = _wish(accept, "application/openmetrics-text")
    wants_open = open_wish > 0 and open_wish >= _wish(accept, "text/plain")
    gzipped = _wish(request.headers.get("accept-encoding", ""), "gzip") > 0
    if wants_open:
        form = Form.OPENMETRICS_GZIP if gzipped else Form.OPENMETRICS
    else:
        form = Form.TEXT_GZIP if gzipped else Form.TEXT
    headers = {"content-type": CONTENT_TYPES[form], "vary": "Accept, Accept-Encoding"}
    if gzipped:
        headers["content-encoding"] = "gzip"
    return Response(exposition.body(form), headers=headers)


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
