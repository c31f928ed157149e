"""Exports that are watched: a collector that does not take them is told of, and nothing waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from cronledger.core.events import TelemetryFailed, TelemetrySent
from cronledger.ports import Observe

_EXPORTER = "opentelemetry.exporter.otlp"
_SDK = "opentelemetry.sdk"


class Exporting:
    """How exports went, by signal. Safe from any thread; a listener that raises is not heard.

    The library's own lines about it, a traceback each, go nowhere.
    """

    def __init__(self, tell: Callable[[], Observe]) -> None:
        self._make = tell
        self._tell: Observe | None = None
        self._failures: dict[str, int] = {}
        self._lock = threading.Lock()
        self._reason = threading.local()
        for name, heard in ((_EXPORTER, self._export_said), (_SDK, self._sdk_said)):
            logger = logging.getLogger(name)
            logger.propagate = False
            logger.addHandler(_To(heard))

    def ended(self, signal: str, arrived: bool) -> None:
        """An export of that signal has ended."""
        reason = getattr(self._reason, "text", "") or "the collector did not take it in time"
        self._reason.text = ""
        with self._lock:
            before = self._failures.get(signal, 0)
            self._failures[signal] = 0 if arrived else before + 1
        if not arrived:
            self._say(TelemetryFailed(signal, reason, before + 1))
        elif before:
            self._say(TelemetrySent(signal, before))

    def _say(self, event: TelemetryFailed | TelemetrySent) -> None:
        try:
            with self._lock:
                self._tell = self._tell or self._make()
            self._tell(event)
        except Exception:  # a full disk must not stop the thread that exports
            return

    def _export_said(self, record: logging.LogRecord) -> None:
        """Keep why, without what an address or a header may hold."""
        for said in record.args if isinstance(record.args, tuple) else ():
            if isinstance(said, Exception):
                self._reason.text = type(said).__name__
            elif isinstance(said, int) and not isinstance(said, bool):
                self._reason.text = f"the answer was status {said}"

    def _sdk_said(self, record: logging.LogRecord) -> None:
        self._say(TelemetryFailed("sdk", str(record.msg), 1))


class _To(logging.Handler):
    """Hands over what a library warns of."""

    def __init__(self, heard: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard(record)


class WatchedSpans(SpanExporter):
    """Spans over OTLP/HTTP."""

    def __init__(self, exporting: Exporting) -> None:
        # Without arguments: an endpoint that is handed over is taken as it is, without /v1/traces.
        self._exporter = OTLPSpanExporter()
        self._exporting = exporting

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        self._exporting.ended("traces", result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the library left it so
