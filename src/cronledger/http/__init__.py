"""The endpoint: prepared bytes and verdicts, over HTTP or TLS, each part behind its guard."""

from cronledger.http.app import Answers
from cronledger.http.server import Server

__all__ = ["Answers", "Server"]
