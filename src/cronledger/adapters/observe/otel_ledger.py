"""A ledger whose jobs carry the trace context of who creates them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from cronledger.adapters.observe import semconv
from cronledger.core.schedule import JobSpec
from cronledger.ports import Enqueue, Ledger


def traced_ledger(ledger: Ledger, tracer: Tracer) -> Ledger:
    """The ledger; each queue that jobs are written to is a span, which they carry."""
    return cast(Ledger, _Traced(ledger, tracer))


class _Traced:
    """Passes everything on, and opens spans around what creates jobs."""

    def __init__(self, ledger: Ledger, tracer: Tracer) -> None:
        self._ledger, self._tracer = ledger, tracer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def enqueue_once(
        self, batch: Sequence[Enqueue], via: str, as_of: datetime | None = None
    ) -> Mapping[int, list[int]]:
        with ExitStack() as stack:
            queues = dict.fromkeys(item.job.queue for item in batch)
            spans = {queue: stack.enter_context(self._sending(queue)) for queue in queues}
            carried = {queue: _headers(span) for queue, span in spans.items()}
            written = self._ledger.enqueue_once(
                [replace(item, headers=carried[item.job.queue]) for item in batch], via, as_of
            )
            for queue, span in spans.items():
                ids = {item.schedule_id for item in batch if item.job.queue == queue}
                span.set_attribute(semconv.BATCH_COUNT, sum(len(written.get(i, ())) for i in ids))
        return written

    def enqueue_by_hand(self, schedule_id: int, key: str, job: JobSpec) -> int:
        with self._sending(job.queue) as span:
            made = self._ledger.enqueue_by_hand(schedule_id, key, job, _headers(span))
            span.set_attribute(semconv.MESSAGE_ID, str(made))
        return made

    @contextmanager
    def _sending(self, queue: str) -> Iterator[Span]:
        """A span beside the others; an error is noted by its type."""
        span = self._tracer.start_span(
            f"{semconv.SEND} {queue}",
            kind=SpanKind.PRODUCER,
            attributes={
                semconv.SYSTEM: semconv.US,
                semconv.OPERATION_NAME: semconv.SEND,
                semconv.OPERATION_TYPE: semconv.SEND,
                semconv.DESTINATION: queue,
            },
        )
        try:
            yield span
        except BaseException as error:
            span.set_attribute(semconv.ERROR_TYPE, type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            span.end()


def _headers(span: Span) -> dict[str, str]:
    carrier: dict[str, str] = {}
    propagate.inject(carrier, trace.set_span_in_context(span))
    return carrier
