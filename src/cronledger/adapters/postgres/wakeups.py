"""LISTEN, as the function of the protocol, and the wait for what comes of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from datetime import timedelta

from cronledger.adapters.postgres.session import Session
from cronledger.errors import RefusedError, StoreError

_POOLED = "0A000"


class PostgresWakeUps:
    """Implements `worker.wakeups.WakeUps` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Whoever waits for the connection's socket waits for the first of these as well.
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._ended = False
        self._ending = threading.Lock()

    def listen(self, queues: Sequence[str]) -> bool:
        """Listen for the next minute; True if that is new."""
        asked = {"queues": list(queues), "pid": self._session.pid()}
        try:
            return bool(self._session.run("listen", asked))
        except RefusedError as error:  # no ledger: one may be restored yet, so ask again
            raise StoreError(f"database: {error}") from error
        except StoreError as error:
            if error.sqlstate == _POOLED:
                raise RefusedError(str(error).removeprefix("database: ")) from error
            raise

    def wait(self, patience: timedelta) -> bool:
        """Whether something was heard within `patience`."""
        with self._ending:
            if self._ended:
                return False
            self._ends = self._ends or socket.socketpair()
            waited = self._ends[0]
        return self._session.notified(patience, waited)

    def end(self) -> None:
        """End this wait and those to come."""
        with self._ending:
            self._ended = True
            if self._ends is not None:
                self._ends[1].send(b"x")

    def close(self) -> None:
        """Give the connection back."""
        self._session.close()
        with self._ending:
            for end in self._ends or ():
                end.close()
            self._ends = None
