"""LISTEN, as the function of the protocol, and the wait for what comes of it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import timedelta

from cronledger.adapters.postgres.session import Session
from cronledger.errors import RefusedError, StoreError

_POOLED = "0A000"


class PostgresWakeUps:
    """Implements `worker.listening.WakeUps` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # A wait for the connection's socket is a wait for this one as well.
        self._ended, self._end = socket.socketpair()

    def listen(self, queues: Sequence[str]) -> bool:
        """Listen for the next minute; True if that is new."""
        asked = {"queues": list(queues), "pid": self._session.pid()}
        try:
            return bool(self._session.run("listen", asked))
        except StoreError as error:
            if error.sqlstate == _POOLED:
                raise RefusedError(str(error).removeprefix("database: ")) from error
            raise

    def wait(self, patience: timedelta) -> bool:
        """Whether something was heard within `patience`."""
        return self._session.notified(patience, self._ended)

    def end(self) -> None:
        """End this wait and those to come."""
        self._end.send(b"x")

    def close(self) -> None:
        """Give the connection back."""
        self._session.close()
