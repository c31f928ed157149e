"""Who may read which part of the endpoint, and the headers that every answer carries."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cronledger.core.web import Guard, WebSettings
from cronledger.http.passwords import BusyError, Passwords

METRICS = "/metrics"
HEALTHY = "/-/healthy"
READY = "/-/ready"
# Set by the server in the state of a request whose connection showed a certificate.
CERTIFIED = "certified"

# What the page needs no more than; `http_server_config.headers` may say otherwise.
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
_CHALLENGE = {"www-authenticate": 'Basic realm="cronledger", charset="UTF-8"'}


class Guarded:
    """Lets a request through to `app` if its guard does. `settings` is asked each time."""

    def __init__(
        self, app: ASGIApp, settings: Callable[[], WebSettings], passwords: Passwords
    ) -> None:
        self._app, self._settings, self._passwords = app, settings, passwords

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        assert scope["type"] == "http", "the server speaks nothing else"
        settings = self._settings()

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (HEADERS | dict(settings.headers)).items():
                    headers[name] = value
            await send(message)

        refusal = await self._refusal(settings, Request(scope))
        await (refusal or self._app)(scope, receive, with_headers)

    async def _refusal(self, settings: WebSettings, request: Request) -> Response | None:
        match _guard(settings, request.scope["path"]):
            case Guard.OPEN:
                return None
            case Guard.CERTIFICATE:
                if request.scope.get("state", {}).get(CERTIFIED):
                    return None
                return PlainTextResponse("show a client certificate\n", status_code=403)
            case Guard.USERS:
                return await self._without_password(settings, request)

    async def _without_password(self, settings: WebSettings, request: Request) -> Response | None:
        try:
            given = request.headers.get("authorization", "")
            if await self._passwords.match(settings.users, given):
                return None
        except BusyError:
            return PlainTextResponse("busy\n", status_code=503, headers={"retry-after": "1"})
        return PlainTextResponse("give user and password\n", status_code=401, headers=_CHALLENGE)


def _guard(settings: WebSettings, path: str) -> Guard:
    if path in (HEALTHY, READY):
        return settings.guards.probes
    return settings.guards.metrics if path == METRICS else settings.guards.page
