"""The samples of the last snapshot over OTLP, in the same numbers that `/metrics` serves."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import export as sdk
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from cronledger.adapters.observe import semconv
from cronledger.adapters.observe.otel_export import Exporting
from cronledger.core.catalogue import CATALOGUE, Metric, MetricType, Source
from cronledger.core.distribution import Distribution
from cronledger.core.samples import Sample
from cronledger.ports import Clock

INTERVAL_MS = 60_000


class MetricsLoop:
    """Sends the newest samples every OTEL_METRIC_EXPORT_INTERVAL, on a thread of its own."""

    def __init__(
        self,
        resource: Resource,
        version: str,
        environ: Mapping[str, str],
        clock: Clock,
        exporting: Exporting,
    ) -> None:
        self._resource, self._clock, self._exporting = resource, clock, exporting
        self._scope = InstrumentationScope(semconv.US, version)
        self._interval = float(environ.get("OTEL_METRIC_EXPORT_INTERVAL") or INTERVAL_MS) / 1000
        self._exporter = OTLPMetricExporter()
        self._started = clock.now()
        self._latest: tuple[Sequence[Sample], datetime] | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cronledger-otlp", daemon=True)
        self._thread.start()

    def measured(self, samples: Sequence[Sample]) -> None:
        """These are the newest."""
        self._latest = samples, self._clock.now()

    def close(self) -> None:
        """Send once more, and no more."""
        self._closing.set()
        self._thread.join()
        self._exporter.shutdown()

    def _run(self) -> None:
        while not self._closing.wait(self._interval):
            self._send()
        self._send()

    def _send(self) -> None:
        if self._latest is None:
            return
        samples, at = self._latest
        try:
            result = self._exporter.export(self._data(samples, at))
        except Exception:  # whatever the library makes of it, the next one is tried
            result = sdk.MetricExportResult.FAILURE
        self._exporting.ended("metrics", result is sdk.MetricExportResult.SUCCESS)

    def _data(self, samples: Sequence[Sample], at: datetime) -> sdk.MetricsData:
        scope = sdk.ScopeMetrics(self._scope, metrics_of(samples, self._started, at), "")
        return sdk.MetricsData([sdk.ResourceMetrics(self._resource, [scope], "")])


def metrics_of(samples: Iterable[Sample], started: datetime, at: datetime) -> list[sdk.Metric]:
    """The samples as OTLP has them. What is unknown (NaN) is left out."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if isinstance(sample.value, Distribution) or not math.isnan(sample.value):
            found[sample.metric].append(sample)
    return [_metric(CATALOGUE[name], series, started, at) for name, series in found.items()]


def name_of(metric: Metric) -> str:
    """With the namespace set off by a dot, and without what Prometheus adds for unit and type."""
    bare = metric.name.removesuffix("_total")
    return bare.removesuffix(f"_{metric.unit}" if metric.unit else "").replace("_", ".", 1)


def _metric(
    metric: Metric, series: Sequence[Sample], started: datetime, at: datetime
) -> sdk.Metric:
    # A durable counter began long before this process: its start is unknown, which is 0.
    begin = _nanos(started) if metric.source is Source.PROCESS else 0
    numbers = [
        sdk.NumberDataPoint(_attributes(metric, sample), begin, _nanos(at), sample.value)
        for sample in series
        if not isinstance(sample.value, Distribution)
    ]
    cumulative = sdk.AggregationTemporality.CUMULATIVE
    data: sdk.Sum | sdk.Gauge | sdk.Histogram
    match metric.type:
        case MetricType.HISTOGRAM:
            data = sdk.Histogram(_histograms(metric, series, begin, _nanos(at)), cumulative)
        case MetricType.COUNTER:
            data = sdk.Sum(numbers, cumulative, is_monotonic=True)
        case MetricType.GAUGE | MetricType.INFO:
            data = sdk.Gauge(numbers)
    return sdk.Metric(name_of(metric), metric.help, "s" if metric.unit else "", data)


def _histograms(
    metric: Metric, series: Sequence[Sample], begin: int, at: int
) -> list[sdk.HistogramDataPoint]:
    return [
        sdk.HistogramDataPoint(
            attributes=_attributes(metric, sample),
            start_time_unix_nano=begin,
            time_unix_nano=at,
            count=value.count,
            sum=value.total,
            bucket_counts=value.counts,
            explicit_bounds=value.bounds,
            min=None,  # type: ignore[arg-type]  # not kept, and optional in the protocol
            max=None,  # type: ignore[arg-type]  # not kept, and optional in the protocol
        )
        for sample in series
        if isinstance(value := sample.value, Distribution)
    ]


def _attributes(metric: Metric, sample: Sample) -> dict[str, str]:
    return dict(zip(metric.labels, sample.labels, strict=True))


def _nanos(at: datetime) -> int:
    return int(at.timestamp() * 1e6) * 1000
