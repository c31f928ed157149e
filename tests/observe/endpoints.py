"""Endpoints over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sample_facts import FULL

from cronledger.adapters.observe.metrics import Renderer
from cronledger.adapters.passwords import check_password
from cronledger.core.web import WebSettings
from cronledger.http import Answers, Server
from cronledger.http.passwords import CheckPassword

EXPOSITION = Renderer().render(FULL)
FINE = Answers(lambda: EXPOSITION, tuple, tuple, version="0.1.0")


@contextmanager
def served(
    settings: WebSettings = WebSettings(),  # noqa: B008  # frozen
    answers: Answers = FINE,
    check: CheckPassword = check_password,
) -> Iterator[tuple[str, Server]]:
    """The address of a server that runs meanwhile, and the server."""
    server = Server(answers, settings=settings, check_password=check)
    port = server.start()
    try:
        yield f"{server.scheme}://127.0.0.1:{port}", server
    finally:
        server.stop()
