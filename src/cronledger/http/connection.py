"""One connection: bounded in time whatever its client does, and who the client has proved to be."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from cronledger.http.guards import CERTIFIED

CONNECTIONS_MAX = 256
# From the first byte (or the connection) to the end of the request's head.
HEAD_SECONDS_MAX = 10.0
# And from there until the client has taken the last byte of the answer.
ANSWER_SECONDS_MAX = 60.0
HANDSHAKE_SECONDS_MAX = 10.0


class Connection(H11Protocol):
    """HTTP/1.1 with a clock on each exchange: a request and its answer."""

    _timer: asyncio.TimerHandle | None = None
    # The exchange before the one under way: until its head is in, that is still the last.
    _before: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base does
        """Begin, unless there are too many already."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            transport.abort()
            return
        # Head and body are two writes; unasked, the second waits 40 ms for the client to have
        # acknowledged the first. asyncio asks only on sockets made with a protocol number.
        plain: socket.socket = transport.get_extra_info("socket")
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None and tls.getpeercert():  # empty unless verified
            self.app_state = {**self.app_state, CERTIFIED: True}
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Bytes after a whole exchange begin the next one."""
        if self._is_over():
            self._begin()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._cancel()
        super().connection_lost(exc)

    def _begin(self) -> None:
        self._cancel()
        self._before = self.cycle
        self._timer = self.loop.call_later(HEAD_SECONDS_MAX, self._head_is_due)

    def _is_over(self) -> bool:
        """The answer is given, and the client has taken it."""
        cycle = self.cycle
        answered = cycle is not self._before and cycle.response_complete
        return answered and self.transport.get_write_buffer_size() == 0

    def _head_is_due(self) -> None:
        if self.cycle is self._before:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(ANSWER_SECONDS_MAX, self._answer_is_due)

    def _answer_is_due(self) -> None:
        if not self._is_over():
            self.transport.abort()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
