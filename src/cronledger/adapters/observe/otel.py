"""Traces by the OpenTelemetry SDK. Imported only when the environment asks for it.

What the SDK does while work goes on is to put a span on a bounded queue; a thread of its own sends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode

from cronledger.adapters.observe import semconv
from cronledger.adapters.observe.otel_export import Exporting, WatchedSpans
from cronledger.adapters.observe.otel_ledger import traced_ledger
from cronledger.adapters.observe.otel_metrics import MetricsLoop
from cronledger.adapters.observe.telemetry import Asked, JobLike, Telemetry
from cronledger.core.events import Attempted, Event, Reconciled
from cronledger.core.lifecycle import Settlement
from cronledger.core.samples import Sample
from cronledger.ports import Clock, Ledger, Observe

FLUSH = timedelta(seconds=5)
_FAILED = frozenset({Settlement.RETRYING, Settlement.DEAD})


class Collected(Telemetry):
    """Tells a collector over OTLP/HTTP."""

    def __init__(
        self,
        wanted: Asked,
        environ: Mapping[str, str],
        version: str,
        clock: Clock,
        tell: Callable[[], Observe],
    ) -> None:
        self._clock = clock
        self._open: dict[int, Span] = {}
        self._opening = threading.Lock()
        exporting = Exporting(tell)
        resource = _resource(environ, version)
        with _deaf_threads():
            self._metrics = None
            if wanted.metrics:
                self._metrics = MetricsLoop(resource, version, environ, clock, exporting)
            self._provider = _provider(resource, exporting) if wanted.traces else None
        self._tracer = trace.get_tracer(semconv.US, version, self._provider)

    @property
    def on(self) -> bool:
        return self._provider is not None

    @property
    def measures(self) -> bool:
        return self._metrics is not None

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        # The message of an exception may quote what it was about; its type does not.
        with self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                failed(span, type(error).__qualname__)
                raise

    @contextmanager
    def attempt(self, job: JobLike) -> Iterator[None]:
        # A root of its own: a job that runs hours later, or for the third time, would make the
        # trace of its creator one of days.
        span = self._tracer.start_span(
            f"{semconv.PROCESS} {job.queue}",
            context=Context(),
            kind=SpanKind.CONSUMER,
            links=_links(job.headers),
            attributes={
                semconv.SYSTEM: semconv.US,
                semconv.OPERATION_NAME: semconv.PROCESS,
                semconv.OPERATION_TYPE: semconv.PROCESS,
                semconv.DESTINATION: job.queue,
                semconv.MESSAGE_ID: str(job.job_id),
                semconv.KEY: job.key,
                semconv.KIND: job.kind,
                semconv.ATTEMPT: job.attempt,
            },
        )
        with self._opening:
            self._open[job.token] = span
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield

    def ids(self, token: int) -> Mapping[str, str]:
        span = self._open.get(token)
        if span is None:
            return {}
        context = span.get_span_context()
        return {
            "trace_id": trace.format_trace_id(context.trace_id),
            "span_id": trace.format_span_id(context.span_id),
        }

    def ledger(self, ledger: Ledger) -> Ledger:
        return traced_ledger(ledger, self._tracer) if self.on else ledger

    def observe(self, event: Event) -> None:
        match event:
            case Attempted():
                self._settled(event)
            case Reconciled():
                trace.get_current_span().set_attributes(
                    {
                        semconv.MISSING: event.missing,
                        semconv.UNEXPECTED: event.unexpected,
                        semconv.ORPHANED: event.orphaned,
                    }
                )
            case _:
                pass  # the rest is for logs

    def _settled(self, event: Attempted) -> None:
        with self._opening:
            span = self._open.pop(event.lease.token, None)
        if span is None:
            return
        span.set_attribute(semconv.OUTCOME, str(event.settlement))
        if event.error_class is not None or event.settlement in _FAILED:
            failed(span, event.error_class or str(event.settlement))
        span.end(_end_of(span, event.duration))

    def measured(self, samples: Sequence[Sample]) -> None:
        if self._metrics is not None:
            self._metrics.measured(samples)

    def close(self) -> None:
        """Send what is left, for five seconds at most; what the collector has not taken is lost."""
        with self._opening:
            left, self._open = list(self._open.values()), {}
        for span in left:
            span.end()  # without an outcome: nobody settled it
        until = self._clock.monotonic() + FLUSH
        steps = [self._provider.shutdown] if self._provider is not None else []
        if self._metrics is not None:
            steps.append(self._metrics.close)
        # Daemons: a collector that does not answer must not hold up the end of the process.
        threads = [threading.Thread(target=step, daemon=True) for step in steps]
        with _deaf_threads():
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(max(0.0, (until - self._clock.monotonic()).total_seconds()))


def failed(span: Span, error_type: str) -> None:
    """Note an error by its type alone."""
    span.set_attribute(semconv.ERROR_TYPE, error_type)
    span.set_status(Status(StatusCode.ERROR))


def _links(headers: Mapping[str, object]) -> list[Link]:
    """To whoever created the job, if its headers say who; anybody may have written them."""
    carrier = {name: value for name, value in headers.items() if isinstance(value, str)}
    creator = trace.get_current_span(propagate.extract(carrier, Context())).get_span_context()
    return [Link(creator)] if creator.is_valid else []


def _end_of(span: Span, duration: timedelta) -> int | None:
    """When the attempt ended; its settlement came later. None, which is now, if it is not known."""
    if not isinstance(span, ReadableSpan) or span.start_time is None:
        return None
    return span.start_time + duration // timedelta(microseconds=1) * 1000


def _resource(environ: Mapping[str, str], version: str) -> Resource:
    mine = {"service.version": version}
    named = Resource.create({}).attributes.get("service.name", "")
    if not environ.get("OTEL_SERVICE_NAME") and str(named).startswith("unknown_service"):
        mine["service.name"] = semconv.US
    return Resource.create(mine)


def _provider(resource: Resource, exporting: Exporting) -> TracerProvider:
    """The program's own provider if it has set one up, else ours, for handlers to use as well."""
    found = trace.get_tracer_provider()
    if isinstance(found, TracerProvider):
        return found
    # Not at exit: the SDK's own hook waits as long as the collector likes.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(WatchedSpans(exporting)))
    trace.set_tracer_provider(provider)
    return provider


@contextmanager
def _deaf_threads() -> Iterator[None]:
    """Threads started within hear no signal: those are for the thread that waits for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
