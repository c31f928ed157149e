"""An OTLP/HTTP collector in the test's own process: it decodes what real exporters send."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

FoundT = TypeVar("FoundT")
PATIENCE = 20.0


class Collector:
    """What it was sent. While `refusing`, it answers with 400; while `silent`, not at all."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._changed = threading.Condition()
        self.paths: set[str] = set()
        self.bodies = b""
        self.spans: list[Span] = []
        self.metrics: list[Metric] = []
        self.resources: list[dict[str, str]] = []
        self.refusing = False
        self.refused = 0
        self.silent = False
        self.asked = False
        self.speak = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def variables(self) -> dict[str, str]:
        """What makes a program send here, soon."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.address,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "300",
        }

    def take(self, path: str, body: bytes) -> int:
        with self._changed:
            self.paths.add(path)
            if self.refusing:
                self.refused += 1
                self._changed.notify_all()
                return 400
            self.bodies += body
            if path.endswith("/traces"):
                self._take_traces(ExportTraceServiceRequest.FromString(body))
            elif path.endswith("/metrics"):
                for one in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    self.metrics = [m for scope in one.scope_metrics for m in scope.metrics]
            self._changed.notify_all()
        return 200

    def _take_traces(self, request: ExportTraceServiceRequest) -> None:
        for one in request.resource_spans:
            self.resources.append(attributes(one.resource))
            self.spans += [span for scope in one.scope_spans for span in scope.spans]

    def wait(self, find: Callable[[], FoundT]) -> FoundT:
        """The first that is true; fails if it does not come."""
        found: list[FoundT] = []

        def looked() -> bool:
            found[:] = [find()]
            return bool(found[0])

        with self._changed:
            names = [span.name for span in self.spans]
            assert self._changed.wait_for(looked, PATIENCE), f"only {names}"
        return found[0]

    def named(self, name: str, count: int = 1) -> list[Span]:
        """Spans of that name, `count` at least."""

        def find() -> list[Span]:
            found = [span for span in self.spans if span.name == name]
            return found if len(found) >= count else []

        return self.wait(find)


def attributes(holder: Any) -> dict[str, Any]:
    """The attributes of a span or a resource."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in holder.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.asked = True
            if collector.silent:
                collector.speak.wait(60)
                return
            self.send_response(collector.take(self.path, body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector = Collector(server)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield collector
    finally:
        collector.speak.set()
        server.shutdown()
        thread.join()
        server.server_close()
